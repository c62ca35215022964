#include "runtime/Comm/Hosts/Connections.h"
#include "runtime/Comm/SharedMemory/Wait.h"
#include "runtime/Program/Mesh.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace p3d {

namespace {
/// What a rank says first to one that it connects to.
struct Greeting {
  uint64_t magic, run;
  int32_t from, to;
};
constexpr uint64_t greetingMagic = 0x31736b6e61726433;
/// At once from one peer, so that others have their turn.
constexpr int64_t turnBytes = 1 << 20;
} // namespace

static void prepare(int socket, int64_t timeoutNs) {
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  // A host that cannot be reached any more does not say so.
  unsigned int milliseconds = unsigned(std::min<int64_t>(timeoutNs / 1'000'000 + 1, INT32_MAX));
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds));
}

/// All of `bytes`, within a time; false if they do not come.
static bool receiveAll(int socket, void *data, size_t bytes, int milliseconds) {
  for (size_t got = 0; got < bytes;) {
    pollfd watched{socket, POLLIN, 0};
    if (poll(&watched, 1, milliseconds) <= 0)
      return false;
    ssize_t now = recv(socket, static_cast<char *>(data) + got, bytes - got, MSG_DONTWAIT);
    if (now == 0 || (now < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    got += size_t(std::max<ssize_t>(now, 0));
  }
  return true;
}

Connections::Connections(const Control &control, int rank, const std::vector<int> &ranks, int64_t timeoutNs)
    : control(control), rank(rank), timeoutNs(timeoutNs), wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  int64_t deadlineNs = monotonicNs() + timeoutNs;
  std::vector<int> later;
  // To connect takes a peer that listens, and all do before any rank is started: nobody waits in a circle.
  for (int peer : ranks) {
    peers[peer] = std::make_unique<Peer>();
    if (peer < rank)
      connect(peer, deadlineNs);
    else
      later.push_back(peer);
  }
  acceptAll(later, deadlineNs);
  thread = std::thread([this] { run(); });
}

void Connections::connect(int peer, int64_t deadlineNs) {
  const Endpoint &endpoint = control.rank(peer).endpoint;
  std::string failure;
  FileDescriptor socket = connectTo(endpoint.address, endpoint.port, failure);
  while (socket.get() < 0) {
    if (monotonicNs() > deadlineNs)
      throw Error(ExitCode::RankFailure,
                  fmt::format("rank {} cannot connect to rank {} on {}, at {} port {}: {}; the hosts of a run have to "
                              "reach each other at any port",
                              rank, peer, control.rank(peer).host, endpoint.address, endpoint.port, failure));
    usleep(100'000);
    socket = connectTo(endpoint.address, endpoint.port, failure);
  }
  Greeting greeting{greetingMagic, control.header().run, rank, peer};
  // A new connection takes so few bytes at once.
  if (::send(socket.get(), &greeting, sizeof(greeting), MSG_NOSIGNAL) == sizeof(greeting)) {
    prepare(socket.get(), timeoutNs);
    at(peer).socket = std::move(socket);
  } else {
    lose(at(peer), errno);
  }
}

void Connections::acceptAll(std::vector<int> missing, int64_t deadlineNs) {
  int listening = control.rank(rank).endpoint.listeningFd;
  while (!missing.empty()) {
    pollfd watched{listening, POLLIN, 0};
    poll(&watched, 1, 100);
    if (monotonicNs() > deadlineNs)
      throw Error(ExitCode::RankFailure,
                  fmt::format("rank {} waited {} s for ranks {} on {} to connect to it; the hosts of a run have to "
                              "reach each other at any port",
                              rank, double(timeoutNs) / 1e9, listRanks(missing), control.rank(missing.front()).host));
    FileDescriptor socket = acceptFrom(listening);
    Greeting greeting;
    constexpr int patienceMs = 2000;
    if (socket.get() < 0 || !receiveAll(socket.get(), &greeting, sizeof(greeting), patienceMs))
      continue;
    auto found = std::find(missing.begin(), missing.end(), greeting.from);
    if (greeting.magic != greetingMagic || greeting.run != control.header().run || greeting.to != rank ||
        found == missing.end())
      continue; // a stranger
    prepare(socket.get(), timeoutNs);
    at(greeting.from).socket = std::move(socket);
    missing.erase(found);
  }
}

Connections::~Connections() {
  if (!thread.joinable())
    return;
  if (std::uncaught_exceptions() == 0)
    waitUntil(eventCount, timeoutNs, [&] { return isAllSent(); });
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  wakeThread();
  thread.join();
}

Connections::Peer &Connections::at(int peer) const {
  auto found = peers.find(peer);
  if (found == peers.end())
    internalError("rank {} has no connection with rank {}", rank, peer);
  return *found->second;
}

void Connections::wakeThread() const {
  uint64_t one = 1;
  (void)!write(wake.get(), &one, sizeof(one));
}

void Connections::send(int to, const Tag &tag, uint64_t check, const void *data, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  Peer &peer = at(to);
  if (peer.isGone)
    return;
  peer.outgoing.push_back({{tag, check, bytes}, static_cast<const char *>(data), 0});
  // Mostly the socket takes all of it.
  if (peer.outgoing.size() == 1)
    sendTo(peer);
  if (!peer.outgoing.empty())
    wakeThread();
}

void Connections::expect(int from, const Tag &tag, void *data, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  Incoming &incoming = at(from).incoming[tag];
  incoming.room = static_cast<char *>(data), incoming.roomBytes = bytes;
  // What has come early moves, and the rest goes where it belongs.
  if (!incoming.early.empty() && incoming.arrival.bytes == bytes) {
    std::memcpy(incoming.room, incoming.early.data(), size_t(incoming.received));
    incoming.early = {};
  }
}

Arrival Connections::look(int from, const Tag &tag) const {
  std::lock_guard<std::mutex> lock(mutex);
  const Peer &peer = at(from);
  auto found = peer.incoming.find(tag);
  return found == peer.incoming.end() ? Arrival{} : found->second.arrival;
}

void Connections::take(int from, const Tag &tag) {
  std::lock_guard<std::mutex> lock(mutex);
  at(from).incoming.erase(tag);
}

bool Connections::isAllSent() const {
  std::lock_guard<std::mutex> lock(mutex);
  return std::all_of(peers.begin(), peers.end(), [](const auto &peer) { return peer.second->outgoing.empty(); });
}

std::string Connections::end(int peer) const {
  std::lock_guard<std::mutex> lock(mutex);
  return at(peer).end;
}

void Connections::lose(Peer &peer, int error) {
  peer.isGone = true;
  peer.outgoing.clear();
  peer.end = error == 0 ? "closed by the other side" : std::strerror(error);
}

/// Sends what the socket takes; true: something has left as a whole.
bool Connections::sendTo(Peer &peer) {
  bool hasLeft = false;
  while (!peer.outgoing.empty() && !peer.isGone) {
    Outgoing &first = peer.outgoing.front();
    constexpr int64_t headerBytes = sizeof(Header);
    int64_t ofHeader = std::min(first.sent, headerBytes), ofData = first.sent - ofHeader;
    iovec parts[] = {{reinterpret_cast<char *>(&first.header) + ofHeader, size_t(headerBytes - ofHeader)},
                     {const_cast<char *>(first.data) + ofData, size_t(first.header.bytes - ofData)}};
    msghdr message{};
    message.msg_iov = parts, message.msg_iovlen = 2;
    ssize_t now = sendmsg(peer.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
      break;
    if (now < 0) {
      lose(peer, errno);
      return true;
    }
    first.sent += now;
    if (first.sent == headerBytes + first.header.bytes) {
      peer.outgoing.pop_front();
      hasLeft = true;
    }
  }
  return hasLeft;
}

/// A header has come.
void Connections::begin(Peer &peer) {
  Incoming &incoming = peer.incoming[peer.header.tag];
  incoming.arrival.bytes = peer.header.bytes, incoming.arrival.check = peer.header.check;
  if (incoming.roomBytes != peer.header.bytes)
    incoming.early.resize(size_t(peer.header.bytes));
  peer.current = &incoming;
}

/// Whether the message that is being received is whole; then the next may come.
bool Connections::finish(Peer &peer) {
  if (!peer.current || peer.current->received < peer.current->arrival.bytes)
    return false;
  peer.current->arrival.isWhole = true;
  peer.current = nullptr;
  peer.headerBytes = 0;
  return true;
}

/// Takes what has come; true: a message is whole, or the peer is gone.
bool Connections::receiveFrom(Peer &peer) {
  bool hasCome = false;
  for (int64_t turn = 0; turn < turnBytes && !peer.isGone;) {
    char *place = reinterpret_cast<char *>(&peer.header) + peer.headerBytes;
    int64_t wanted = int64_t(sizeof(Header)) - peer.headerBytes;
    if (Incoming *current = peer.current) {
      place = (current->early.empty() ? current->room : current->early.data()) + current->received;
      wanted = current->arrival.bytes - current->received;
    }
    ssize_t now = recv(peer.socket.get(), place, size_t(wanted), MSG_DONTWAIT);
    if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
      break;
    if (now <= 0) {
      lose(peer, now == 0 ? 0 : errno);
      return true;
    }
    turn += now;
    if (peer.current)
      peer.current->received += now;
    else if ((peer.headerBytes += now) == int64_t(sizeof(Header)))
      begin(peer);
    hasCome = finish(peer) || hasCome;
  }
  return hasCome;
}

void Connections::run() {
  std::vector<pollfd> watched;
  std::vector<Peer *> owners;
  for (;;) {
    watched = {{wake.get(), POLLIN, 0}};
    owners.clear();
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (isEnding)
        return;
      for (auto &[number, peer] : peers)
        if (!peer->isGone) {
          watched.push_back({peer->socket.get(), short(peer->outgoing.empty() ? POLLIN : POLLIN | POLLOUT), 0});
          owners.push_back(peer.get());
        }
    }
    poll(watched.data(), watched.size(), -1);
    uint64_t events;
    if (watched[0].revents)
      (void)!read(wake.get(), &events, sizeof(events));
    bool hasNews = false;
    for (size_t i = 0; i < owners.size(); ++i) {
      if (!watched[i + 1].revents)
        continue;
      std::lock_guard<std::mutex> lock(mutex);
      hasNews = sendTo(*owners[i]) || hasNews;
      hasNews = receiveFrom(*owners[i]) || hasNews;
    }
    if (hasNews)
      signal(eventCount);
  }
}

} // namespace p3d
