// The memory that the ranks of a communicator share: who is there, what each is doing, and buffers through which data
// pass. One lock and one condition for all: a rank sleeps until something changes.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <pthread.h>
#include <string>

namespace p3d::emulator {

inline constexpr size_t collectiveChunk = 256 << 10, transferChunk = 64 << 10;

/// What a rank brings to a collective or a transfer; compared and shown.
struct OpView {
  char kind[24]; ///< allReduce, ...; empty: nothing yet
  uint64_t count;
  int32_t type, op, root;
};

struct RankSlot {
  uint32_t isPresent;
  int32_t globalRank; ///< as the environment says, or -1
  int32_t pid;
  uint64_t collectives; ///< how many it has begun
  uint64_t phase;       ///< of the data's way, over all collectives
  OpView views[2];      ///< of the last two begun, by their number: a rank may begin the next before another has compared
  char activity[96];    ///< what it does now, for reports
};

/// The way from one rank to another: one piece at a time.
struct Channel {
  uint32_t isFull;
  uint32_t bytes;
  OpView message; ///< of which this is a piece
};

class Board {
public:
  /// Maps the board `name` for `ranks` ranks, which the first to come makes.
  Board(const std::string &name, int ranks, int rank);
  ~Board();
  Board(const Board &) = delete;

  /// The number of ranks that the first to come gave.
  int ranks() const;
  RankSlot &slot(int rank) const;
  Channel &channel(int from, int to) const;
  /// One of two buffers of a rank, for a chunk of a collective.
  char *staging(int rank, int set) const;
  char *piece(int from, int to) const;

  void lock();
  void unlock();
  void notify();
  /// Waits, with the lock held, until `isDone`, which is asked again when something has changed, and once in a while,
  /// when `isOver` may end it too. Returns whether it is done.
  bool wait(const std::function<bool()> &isDone, const std::function<bool()> &isOver);
  /// Nobody will look for it by its name any more.
  void unlinkName();

private:
  struct Header;
  size_t bytes() const;
  std::string name;
  int count;
  Header *header = nullptr;
};

} // namespace p3d::emulator
