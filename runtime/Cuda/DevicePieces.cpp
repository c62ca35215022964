#include "runtime/Cuda/DevicePieces.h"
#include "runtime/include/p3d/runtime.h"

namespace p3d {

CUdeviceptr DevicePieces::take(int64_t bytes, const char *what) {
  int64_t padded = (bytes + P3D_DEVICE_PIECE - 1) / P3D_DEVICE_PIECE * P3D_DEVICE_PIECE;
  if (padded > left)
    return own.emplace_back(allocateDevice(bytes, what)).get();
  left -= padded;
  return std::exchange(next, next + CUdeviceptr(padded));
}

} // namespace p3d
