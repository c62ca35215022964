// The connections of a rank with ranks of other hosts: messages that are known by a tag. A thread sends and receives,
// asleep in poll, so that what was begun goes on while the rank computes, or sleeps on a word of shared memory.
#pragma once
#include "runtime/Comm/Hosts/Sockets.h"
#include "runtime/Comm/SharedMemory/Control.h"
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace p3d {

enum class MessagePurpose : uint32_t {
  Part,     ///< of a collective: communicator, meeting, number of the part
  Transfer, ///< value, microbatch
  Taken,    ///< the same: the receiver has the transfer
};

struct Tag {
  MessagePurpose purpose;
  uint32_t part;
  uint64_t first, second;
  bool operator<(const Tag &other) const {
    return std::tie(purpose, part, first, second) < std::tie(other.purpose, other.part, other.first, other.second);
  }
};

/// What has come under a tag.
struct Arrival {
  bool isWhole = false;
  int64_t bytes = 0;
  uint64_t check = 0; ///< what the sender knows of the call
};

class Connections {
public:
  /// Connects to each of `peers`, and lets them connect. Throws what keeps it from that for `timeoutNs`.
  Connections(const Control &control, int rank, const std::vector<int> &peers, int64_t timeoutNs);
  /// Sends what is left, within the time that is left for it.
  ~Connections();
  Connections(const Connections &) = delete;

  /// Begins to send; `data` stays as it is until nothing is on its way.
  void send(int peer, const Tag &tag, uint64_t check, const void *data, int64_t bytes);
  /// Says where a message is to go that will come; the room has to be there until it is taken.
  void expect(int peer, const Tag &tag, void *data, int64_t bytes);
  /// A message that was expected. One of another size than expected keeps its data.
  Arrival look(int peer, const Tag &tag) const;
  /// Forgets a message that is whole.
  void take(int peer, const Tag &tag);
  /// Whether all has left that was begun, by peers that are there.
  bool isAllSent() const;
  /// Why nothing goes to or comes from `peer` any more; empty if something may.
  std::string end(int peer) const;

  /// Counts what has come or left.
  std::atomic<uint32_t> &events() { return eventCount; }

private:
  struct Header {
    Tag tag;
    uint64_t check;
    int64_t bytes;
  };
  struct Outgoing {
    Header header;
    const char *data;
    int64_t sent; ///< of header and data
  };
  struct Incoming {
    Arrival arrival;
    char *room = nullptr; ///< where it goes, once that is known
    int64_t roomBytes = -1, received = 0;
    std::vector<char> early; ///< what comes before that
  };
  struct Peer {
    FileDescriptor socket;
    std::deque<Outgoing> outgoing;
    Header header;
    int64_t headerBytes = 0;      ///< of a header, received
    Incoming *current = nullptr;  ///< whose data is being received
    std::map<Tag, Incoming> incoming;
    bool isGone = false;
    std::string end;
  };

  void connect(int peer, int64_t deadlineNs);
  void acceptAll(std::vector<int> missing, int64_t deadlineNs);
  void run();
  bool sendTo(Peer &peer);
  bool receiveFrom(Peer &peer);
  void begin(Peer &peer);
  static bool finish(Peer &peer);
  void lose(Peer &peer, int error);
  void wakeThread() const;
  Peer &at(int peer) const;

  const Control &control;
  const int rank;
  const int64_t timeoutNs;
  FileDescriptor wake;
  mutable std::mutex mutex;
  std::map<int, std::unique_ptr<Peer>> peers;
  std::atomic<uint32_t> eventCount{0};
  bool isEnding = false;
  std::thread thread;
};

} // namespace p3d
