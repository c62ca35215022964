// Race detection: for each granule of 4 bytes of the region the last command that wrote it, and those that read it
// since and are not ordered among themselves (after "FastTrack", Flanagan and Freund 2009). An access that does not
// come after a conflicting one in the order of streams, events and host synchronisation is a race, in whatever order
// the two ran.
#pragma once
#include "test/emulator/Driver/Command.h"
#include "test/emulator/Driver/Memory.h"
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace p3d::emulator {

class Shadow {
public:
  explicit Shadow(const Memory &memory);

  struct Conflict {
    CommandId other = 0; ///< 0: none
    bool otherWrote = false;
    const void *address = nullptr;
  };
  /// Notes the access of `id`, whose predecessors `clock` covers. The memory must be allocated.
  Conflict access(CommandId id, const Clock &clock, const void *address, size_t bytes, bool isWrite);
  /// A command that touched this memory and that `clock` does not cover.
  Conflict unordered(const Clock &clock, const void *address, size_t bytes) const;
  /// The memory was freed.
  void forget(const void *address, size_t bytes);

private:
  /// A cell: the writer in the lower half; in the upper a reader, or with bit 31 the index of a set of readers.
  using Cell = std::atomic<uint64_t>;
  uint32_t addReader(uint32_t readers, CommandId id, const Clock &clock);
  std::vector<CommandId> readersOf(uint32_t readers) const;
  Conflict conflictWith(uint64_t cell, CommandId id, const Clock &clock, bool isWrite, const void *address) const;

  const char *base;
  Cell *cells;
  mutable std::mutex setsMutex;
  std::vector<std::vector<CommandId>> sets;
};

} // namespace p3d::emulator
