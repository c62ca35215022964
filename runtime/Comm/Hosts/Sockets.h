// TCP sockets between hosts.
#pragma once
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

/// One try to connect to `address`; the text says why it failed, if it did.
FileDescriptor connectTo(const std::string &address, int port, std::string &failure);
/// Listens at `port` of all interfaces; at any free one if it is 0. A user error if it is taken.
FileDescriptor listenAt(int port);
/// A connection that has come, or none.
FileDescriptor acceptFrom(int listening);

/// Where a socket is bound.
int portOf(int socket);
/// The host at the other end of a connection, by its number; empty if that is this host, by way of loopback.
std::string peerAddress(int socket);

} // namespace p3d
