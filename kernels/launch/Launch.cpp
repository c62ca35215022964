#include "kernels/launch/Launch.h"

namespace p3d {

static const char *suffixOf(int32_t dtype) {
  return dtype == P3D_F32    ? "f32"
         : dtype == P3D_BF16 ? "bf16"
         : dtype == P3D_F16  ? "f16"
         : dtype == P3D_I32  ? "i32"
         : dtype == P3D_I64  ? "i64"
                             : "ui32";
}

std::string kernelFor(const char *kernel, int32_t dtype) { return std::string(kernel) + "_" + suffixOf(dtype); }

bool Launch::takes(const char *kernel, int32_t dtype) {
  return dtype == P3D_F32 || dtype == P3D_BF16 || dtype == P3D_F16 ||
         refuse(std::string(kernel) + " has no form for element type " + std::to_string(dtype));
}

bool Launch::takesParameter(const char *kernel, int32_t dtype, int32_t paramDtype) {
  return takes(kernel, dtype) &&
         (paramDtype == P3D_F32 || paramDtype == dtype ||
          refuse(std::string(kernel) + " has no form for parameters of element type " + std::to_string(paramDtype)));
}

bool Launch::fits(const char *kernel, const char *what, int64_t size) {
  return size <= INT32_MAX ||
         refuse(std::string(kernel) + " counts " + what + " in 32 bits, but there are " + std::to_string(size));
}

void Launch::enqueue(const std::string &kernel, Grid grid, uint32_t threadsX, uint32_t threadsY, int64_t sharedBytes,
                     void **arguments, const uint32_t *bytes, uint32_t count) {
  if (grid.x <= 0 || grid.y <= 0 || grid.z <= 0)
    return;
  if (grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535) {
    refuse(kernel + " would need a grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
           std::to_string(grid.z) + " blocks, more than a device has");
    return;
  }
  if (sharedBytes > sharedBytesPerBlock()) {
    refuse(kernel + " needs " + std::to_string(sharedBytes) +
           " bytes of shared memory, but a block of this device has " + std::to_string(sharedBytesPerBlock()));
    return;
  }
  const uint32_t blocks[3] = {static_cast<uint32_t>(grid.x), static_cast<uint32_t>(grid.y),
                              static_cast<uint32_t>(grid.z)};
  const uint32_t threads[3] = {threadsX, threadsY, 1};
  launcher->launch(launcher, kernel.c_str(), stream, blocks, threads, static_cast<uint32_t>(sharedBytes), arguments,
                   bytes, count);
}

uint32_t rowThreads(int32_t dtype, int64_t cols, int64_t most) {
  int64_t wanted = ceilDivide(cols, 2 * chunkElements(dtype));
  return static_cast<uint32_t>(std::clamp<int64_t>(ceilDivide(wanted, 32) * 32, 32, most));
}

Grid loopGrid(const Launch &launch, int64_t work, int64_t threads) {
  return {std::min<int64_t>(ceilDivide(work, threads), int64_t(launch.multiprocessors()) * 16)};
}

} // namespace p3d
