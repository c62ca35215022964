#include "runtime/Cuda/Staging.h"
#include <algorithm>

namespace p3d {

/// Enough for what a step of most programs reads, so that it is taken once.
static constexpr int64_t leastBytes = 4 << 20;
static constexpr int64_t alignment = 64;

char *Staging::take(int64_t bytes) {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (used + bytes > capacity) {
    P3D_CU(cuStreamSynchronize, stream);
    used = 0;
  }
  if (bytes > capacity) {
    memory.reset();
    capacity = std::max(bytes, leastBytes);
    memory = allocatePinned(capacity);
  }
  used += bytes;
  return memory.get() + used - bytes;
}

} // namespace p3d
