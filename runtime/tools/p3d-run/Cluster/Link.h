// A TCP connection that carries messages: a kind, a size, plain data. Sending never blocks; what the peer does not take
// yet waits here.
#pragma once
#include "runtime/Comm/Hosts/Sockets.h"
#include "runtime/tools/p3d-run/Cluster/Messages.h"
#include <functional>
#include <string>

namespace p3d {

class Link;
/// The host at its other end, by its number.
std::string addressOf(const Link &link);

class Link {
public:
  explicit Link(FileDescriptor socket);

  template <typename Message> void send(const Message &message) { send(Message::kind, &message, sizeof(message)); }
  /// Hands each message that has come to `take`, kind and data. False: the peer is gone, or does not speak this
  /// language.
  bool receive(const std::function<void(MessageKind, const std::string &)> &take);
  /// Goes on sending; false: the peer is gone.
  bool flush();

  int socket() const { return descriptor.get(); }
  short events() const;
  int64_t lastHeardNs() const { return heardNs; }

private:
  void send(MessageKind kind, const void *data, size_t bytes);

  FileDescriptor descriptor;
  std::string incoming, outgoing;
  int64_t heardNs;
  bool isOpen = true;
};

} // namespace p3d
