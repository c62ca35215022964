// Device memory and pinned host memory: pieces of one reserved region, each followed by a gap that belongs to nobody.
// Fresh memory is poisoned with ones: NaN in every float type, -1 as an integer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace p3d::emulator {

enum class MemoryKind { Device, Host };

struct Allocation {
  const char *begin = nullptr, *end = nullptr;
  MemoryKind kind = MemoryKind::Device;
};

class Memory {
public:
  static constexpr size_t regionBytes = size_t(256) << 30;

  Memory();
  /// Null when the device (or the region) is full.
  void *allocate(size_t bytes, MemoryKind kind);
  /// False if nothing of this kind begins there.
  bool release(void *address, MemoryKind kind);
  /// The allocation that holds `address`; an empty one if none does.
  Allocation find(const void *address) const;
  /// Whether `address` is in the region at all.
  bool covers(const void *address) const { return size_t(static_cast<const char *>(address) - base) < regionBytes; }
  /// What is wrong with an access, or nothing.
  std::string complaint(const void *address, size_t bytes) const;
  size_t deviceBytes() const;
  size_t count(MemoryKind kind) const;
  char *begin() const { return base; }

private:
  mutable std::mutex mutex;
  char *base;
  std::map<const char *, Allocation> allocations; // by begin
  size_t usedBytes = 0;                           // on the device
};

} // namespace p3d::emulator
