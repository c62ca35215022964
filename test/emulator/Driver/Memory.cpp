#include "test/emulator/Driver/Memory.h"
#include "test/emulator/Driver/Fault.h"
#include "test/emulator/Driver/Settings.h"
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>

namespace p3d::emulator {

static constexpr size_t pageBytes = 4096, gapBytes = 64 << 10;

static size_t roundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

Memory::Memory() {
  void *region = mmap(nullptr, regionBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED)
    fault("cannot reserve the address range of device memory");
  base = static_cast<char *>(region);
}

void *Memory::allocate(size_t bytes, MemoryKind kind) {
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes == 0 || (kind == MemoryKind::Device && usedBytes + bytes > settings().memoryBytes))
    return nullptr;
  // The first hole that is large enough, with a gap on both sides.
  char *at = base + gapBytes;
  size_t size = roundUp(bytes, pageBytes);
  for (auto &[begin, allocation] : allocations) {
    if (begin >= at + size + gapBytes)
      break;
    at = base + roundUp(allocation.end - base, pageBytes) + gapBytes;
  }
  if (at + size + gapBytes > base + regionBytes || mprotect(at, size, PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  memset(at, 0xff, size);
  allocations[at] = {at, at + bytes, kind};
  if (kind == MemoryKind::Device)
    usedBytes += bytes;
  return at;
}

bool Memory::release(void *address, MemoryKind kind) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = allocations.find(static_cast<const char *>(address));
  if (found == allocations.end() || found->second.kind != kind)
    return false;
  size_t bytes = found->second.end - found->second.begin;
  if (kind == MemoryKind::Device)
    usedBytes -= bytes;
  allocations.erase(found);
  // A new mapping gives the pages back.
  mmap(address, roundUp(bytes, pageBytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return true;
}

Allocation Memory::find(const void *address) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto *at = static_cast<const char *>(address);
  auto next = allocations.upper_bound(at);
  if (next == allocations.begin() || at >= std::prev(next)->second.end)
    return {};
  return std::prev(next)->second;
}

std::string Memory::complaint(const void *address, size_t bytes) const {
  Allocation allocation = find(address);
  auto *at = static_cast<const char *>(address);
  if (allocation.begin && bytes <= size_t(allocation.end - at))
    return "";
  if (allocation.begin)
    return fmt::format("out of bounds: {} bytes at offset {} of an allocation of {} bytes", bytes,
                       at - allocation.begin, allocation.end - allocation.begin);
  std::lock_guard<std::mutex> lock(mutex);
  auto next = allocations.upper_bound(at);
  if (next != allocations.begin()) {
    const Allocation &before = std::prev(next)->second;
    if (at < before.end + gapBytes)
      return fmt::format("out of bounds: {} bytes at {}, {} bytes beyond the end of an allocation of {} bytes", bytes,
                         address, at - before.end, before.end - before.begin);
  }
  if (next != allocations.end() && next->first - at <= ptrdiff_t(gapBytes))
    return fmt::format("out of bounds: {} bytes at {}, {} bytes before an allocation", bytes, address,
                       next->first - at);
  return fmt::format("out of bounds: {} bytes at {}, outside any allocation", bytes, address);
}

size_t Memory::deviceBytes() const {
  std::lock_guard<std::mutex> lock(mutex);
  return usedBytes;
}

size_t Memory::count(MemoryKind kind) const {
  std::lock_guard<std::mutex> lock(mutex);
  size_t count = 0;
  for (auto &[begin, allocation] : allocations)
    count += allocation.kind == kind;
  return count;
}

} // namespace p3d::emulator
