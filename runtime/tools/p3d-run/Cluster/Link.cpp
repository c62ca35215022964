#include "runtime/tools/p3d-run/Cluster/Link.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace p3d {

namespace {
struct Frame {
  MessageKind kind;
  uint32_t bytes;
};
/// No message is larger; what claims to be is not ours.
constexpr uint32_t largestMessage = 1 << 16;
} // namespace

FileDescriptor::~FileDescriptor() {
  if (number >= 0)
    close(number);
}

Link::Link(FileDescriptor socket) : descriptor(std::move(socket)), heardNs(monotonicNs()) {
  int yes = 1;
  setsockopt(descriptor.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

FileDescriptor Link::connect(const std::string &address, int port, std::string &failure) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error) {
    failure = gai_strerror(error);
    return FileDescriptor();
  }
  FileDescriptor made;
  for (addrinfo *at = found; at && made.get() < 0; at = at->ai_next) {
    FileDescriptor socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    timeval longest{2, 0}; // connect() obeys it
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
    if (::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0)
      made = std::move(socket);
    else
      failure = std::strerror(errno);
  }
  freeaddrinfo(found);
  return made;
}

FileDescriptor Link::listen(int port) {
  // One socket for both protocols, where the machine has both.
  FileDescriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int yes = 1, no = 0, failed = -1;
  if (socket.get() >= 0) {
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6, any.sin6_port = htons(uint16_t(port));
    failed = bind(socket.get(), reinterpret_cast<sockaddr *>(&any), sizeof(any));
  } else {
    socket = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in any{};
    any.sin_family = AF_INET, any.sin_port = htons(uint16_t(port));
    failed = bind(socket.get(), reinterpret_cast<sockaddr *>(&any), sizeof(any));
  }
  if (failed || ::listen(socket.get(), SOMAXCONN))
    userError("cannot listen at port {}: {}; set MASTER_PORT to a free port for every process", port,
              std::strerror(errno));
  return socket;
}

FileDescriptor Link::accept(int listening) {
  return FileDescriptor(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void Link::send(MessageKind kind, const void *data, size_t bytes) {
  static_assert(sizeof(FailureMessage) <= largestMessage && sizeof(WelcomeMessage) <= largestMessage &&
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
