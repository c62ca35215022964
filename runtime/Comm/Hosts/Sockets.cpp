#include "runtime/Comm/Hosts/Sockets.h"
#include "runtime/Error.h"
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace p3d {

FileDescriptor::~FileDescriptor() {
  if (number >= 0)
    close(number);
}

FileDescriptor connectTo(const std::string &address, int port, std::string &failure) {
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

FileDescriptor listenAt(int port) {
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

FileDescriptor acceptFrom(int listening) {
  return FileDescriptor(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

int portOf(int socket) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr *>(&address), &bytes);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in &>(address).sin_port);
}

std::string peerAddress(int socket) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  char text[NI_MAXHOST] = {};
  if (getpeername(socket, reinterpret_cast<sockaddr *>(&address), &bytes) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr *>(&address), bytes, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  // A socket of both protocols shows numbers of the older one in the form of the newer.
  static const std::string mapped = "::ffff:";
  std::string number = text;
  if (number.compare(0, mapped.size(), mapped) == 0)
    number = number.substr(mapped.size());
  bool isLoopback = number == "::1" || number.compare(0, 4, "127.") == 0;
  return isLoopback ? "" : number;
}

} // namespace p3d
