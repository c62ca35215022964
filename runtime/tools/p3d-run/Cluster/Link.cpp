#include "runtime/tools/p3d-run/Cluster/Link.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace p3d {

namespace {
struct Frame {
  MessageKind kind;
  uint32_t bytes;
};
/// No message is larger; what claims to be is not ours.
constexpr uint32_t largestMessage = 1 << 16;
} // namespace

Link::Link(FileDescriptor socket) : descriptor(std::move(socket)), heardNs(monotonicNs()) {
  int yes = 1;
  setsockopt(descriptor.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

std::string addressOf(const Link &link) {
  std::string address = peerAddress(link.socket());
  return address.empty() ? "127.0.0.1" : address;
}

void Link::send(MessageKind kind, const void *data, size_t bytes) {
  static_assert(sizeof(FailureMessage) <= largestMessage && sizeof(EndpointMessage) <= largestMessage && sizeof(WelcomeMessage) <= largestMessage &&
                    sizeof(PlaceMessage) <= largestMessage && sizeof(RecordMessage) <= largestMessage,
                "messages fit");
  Frame frame{kind, uint32_t(bytes)};
  outgoing.append(reinterpret_cast<const char *>(&frame), sizeof(frame));
  outgoing.append(static_cast<const char *>(data), bytes);
  flush();
}

bool Link::flush() {
  size_t sent = 0;
  while (isOpen && sent < outgoing.size()) {
    ssize_t now = ::send(descriptor.get(), outgoing.data() + sent, outgoing.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (now > 0)
      sent += size_t(now);
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      break;
    else if (errno != EINTR)
      isOpen = false;
  }
  outgoing.erase(0, sent);
  return isOpen;
}

short Link::events() const { return short(outgoing.empty() ? POLLIN : POLLIN | POLLOUT); }

bool Link::receive(const std::function<void(MessageKind, const std::string &)> &take) {
  char block[1 << 16];
  ssize_t got = 0;
  while (isOpen && (got = recv(descriptor.get(), block, sizeof(block), MSG_DONTWAIT)) > 0)
    incoming.append(block, size_t(got)), heardNs = monotonicNs();
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
    isOpen = false;
  size_t at = 0;
  Frame frame;
  while (incoming.size() - at >= sizeof(frame)) {
    std::memcpy(&frame, incoming.data() + at, sizeof(frame));
    if (frame.bytes > largestMessage)
      return isOpen = false;
    if (incoming.size() - at < sizeof(frame) + frame.bytes)
      break;
    std::string data = incoming.substr(at + sizeof(frame), frame.bytes);
    at += sizeof(frame) + frame.bytes;
    take(frame.kind, data);
  }
  incoming.erase(0, at);
  return isOpen;
}

} // namespace p3d
