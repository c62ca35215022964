// The memory that kernels under test work on: ordinary memory (HostMemory.cpp), or memory that a device and the host
// share (test/gpu/DeviceLauncher.cpp). All that a test hands to a kernel by a pointer lies in a Buffer or a Tensor.
#pragma once
#include <cstddef>
#include <vector>

namespace p3dtest {

/// Memory for `bytes`, at a multiple of 16 bytes; not null, also for none.
void *allocateBuffer(size_t bytes);
void releaseBuffer(void *memory) noexcept;

template <typename T> struct BufferAllocator {
  using value_type = T;
  BufferAllocator() = default;
  template <typename U> BufferAllocator(const BufferAllocator<U> &) {}
  T *allocate(size_t count) { return static_cast<T *>(allocateBuffer(count * sizeof(T))); }
  void deallocate(T *memory, size_t) noexcept { releaseBuffer(memory); }
  bool operator==(const BufferAllocator &) const { return true; }
  bool operator!=(const BufferAllocator &) const { return false; }
};

template <typename T> using Buffer = std::vector<T, BufferAllocator<T>>;

} // namespace p3dtest
