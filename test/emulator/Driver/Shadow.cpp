#include "test/emulator/Driver/Shadow.h"
#include "test/emulator/Driver/Fault.h"
#include <sys/mman.h>

namespace p3d::emulator {

static constexpr size_t granule = 4;
static constexpr uint32_t setBit = 1u << 31;

Shadow::Shadow(const Memory &memory) : base(memory.begin()) {
  void *region = mmap(nullptr, Memory::regionBytes / granule * sizeof(Cell), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED)
    fault("cannot reserve the address range of the shadow memory");
  cells = static_cast<Cell *>(region);
}

std::vector<CommandId> Shadow::readersOf(uint32_t readers) const {
  if (!readers)
    return {};
  if (!(readers & setBit))
    return {readers};
  std::lock_guard<std::mutex> lock(setsMutex);
  return sets[readers & ~setBit];
}

/// Readers that come before the new one need not be kept: who comes after it comes after them.
uint32_t Shadow::addReader(uint32_t readers, CommandId id, const Clock &clock) {
  if (!readers || (!(readers & setBit) && clock.covers(readers)))
    return id;
  std::vector<CommandId> kept;
  for (CommandId reader : readersOf(readers))
    if (reader != id && !clock.covers(reader))
      kept.push_back(reader);
  if (kept.empty())
    return id;
  kept.push_back(id);
  std::sort(kept.begin(), kept.end());
  std::lock_guard<std::mutex> lock(setsMutex);
  for (size_t i = sets.size(); i-- > 0 && i + 8 >= sets.size();) // neighbours have the same readers
    if (sets[i] == kept)
      return setBit | i;
  sets.push_back(std::move(kept));
  return setBit | (sets.size() - 1);
}

Shadow::Conflict Shadow::conflictWith(uint64_t cell, CommandId id, const Clock &clock, bool isWrite,
                                      const void *address) const {
  uint32_t writer = cell, readers = cell >> 32;
  if (writer && writer != id && !clock.covers(writer))
    return {writer, true, address};
  if (isWrite && readers && !(readers & setBit))
    return readers == id || clock.covers(readers) ? Conflict{} : Conflict{readers, false, address};
  if (isWrite)
    for (CommandId reader : readersOf(readers))
      if (reader != id && !clock.covers(reader))
        return {reader, false, address};
  return {};
}

Shadow::Conflict Shadow::access(CommandId id, const Clock &clock, const void *address, size_t bytes, bool isWrite) {
  size_t offset = static_cast<const char *>(address) - base;
  for (size_t i = offset / granule; i <= (offset + bytes - 1) / granule; ++i) {
    uint64_t cell = cells[i].load(std::memory_order_relaxed);
    for (;;) {
      uint32_t writer = cell, readers = cell >> 32;
      if (writer == id && (!isWrite || readers == 0))
        break;
      if (!isWrite && readers == id)
        break;
      Conflict conflict = conflictWith(cell, id, clock, isWrite, base + i * granule);
      if (conflict.other)
        return conflict;
      uint64_t next = isWrite ? id : uint64_t(addReader(readers, id, clock)) << 32 | writer;
      if (cells[i].compare_exchange_weak(cell, next, std::memory_order_relaxed))
        break;
    }
  }
  return {};
}

Shadow::Conflict Shadow::unordered(const Clock &clock, const void *address, size_t bytes) const {
  size_t offset = static_cast<const char *>(address) - base;
  uint64_t last = 0;
  for (size_t i = offset / granule; i <= (offset + bytes - 1) / granule; ++i) {
    uint64_t cell = cells[i].load(std::memory_order_relaxed);
    if (cell == last)
      continue;
    last = cell;
    Conflict conflict = conflictWith(cell, 0, clock, true, base + i * granule);
    if (conflict.other)
      return conflict;
  }
  return {};
}

void Shadow::forget(const void *address, size_t bytes) {
  size_t first = (static_cast<const char *>(address) - base) / granule, last = first + bytes / granule + 1;
  constexpr uintptr_t page = 4096;
  auto *from = reinterpret_cast<char *>(cells + first), *to = reinterpret_cast<char *>(cells + last);
  auto *inner = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(from) + page - 1) / page * page);
  to = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(to) + page - 1) / page *
                                page); // gaps have no cells of others
  for (char *at = from; at < inner && at < to; at += sizeof(Cell))
    reinterpret_cast<Cell *>(at)->store(0, std::memory_order_relaxed);
  if (inner < to)
    madvise(inner, to - inner, MADV_DONTNEED);
}

} // namespace p3d::emulator
