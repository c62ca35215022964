// The services of runtime.h that only a device has.
#include "runtime/Cuda/Current.h"
#include "runtime/Guard.h"

using namespace p3d;

extern "C" {

void p3d_launch(p3d_context *ctx, const char *kernel, int64_t blocks, int32_t threads, void **arguments, int32_t) {
  guard(ctx, [&] {
    if (blocks == 0)
      return;
    if (blocks < 0 || blocks > INT32_MAX)
      internalError("kernel {} has a grid of {} blocks", kernel, blocks);
    uint32_t grid[3] = {uint32_t(blocks), 1, 1}, block[3] = {uint32_t(threads), 1, 1};
    CudaDevice &device = *currentRank.device;
    device.launcher.enqueue(kernel, device.streams.compute(), grid, block, 0, arguments);
  });
}

void *p3d_device_constants(p3d_context *ctx, const void *host, int64_t bytes) {
  return guard(ctx, [&] { return currentRank.device->constants(host, bytes); });
}

void p3d_record(p3d_context *ctx, int32_t event, int32_t stream) {
  guard(ctx, [&] { currentRank.device->streams.record(event, stream); });
}

void p3d_wait(p3d_context *ctx, int32_t event, int32_t stream) {
  guard(ctx, [&] { currentRank.device->streams.wait(event, stream); });
}

} // extern "C"
