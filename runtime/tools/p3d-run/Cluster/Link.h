// A TCP connection that carries messages: a kind, a size, plain data. Sending never blocks; what the peer does not take
// yet waits here.
#pragma once
#include "runtime/tools/p3d-run/Cluster/Messages.h"
#include <functional>
#include <string>
#include <utility>

namespace p3d {

/// Owns a file descriptor.
class FileDescriptor {
public:
  explicit FileDescriptor(int number = -1) : number(number) {}
  FileDescriptor(FileDescriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~FileDescriptor();
  int get() const { return number; }

private:
  int number;
};

class Link {
public:
  explicit Link(FileDescriptor socket);

  /// One try to connect to `address`; the text says why it failed, if it did.
  static FileDescriptor connect(const std::string &address, int port, std::string &failure);
  /// Listens at `port` of all interfaces; a user error if it is taken.
  static FileDescriptor listen(int port);
  /// A connection that has come, or none.
  static FileDescriptor accept(int listening);

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
