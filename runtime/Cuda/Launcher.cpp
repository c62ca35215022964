#include "runtime/Cuda/Launcher.h"

namespace p3d {

static Launcher &self(p3d_launcher *launcher) { return *static_cast<Launcher *>(launcher); }

Launcher::Launcher(const Context &context, KernelTable &kernels) : kernels(kernels) {
  p3d_launcher::launch = [](p3d_launcher *launcher, const char *kernel, void *stream, const uint32_t grid[3],
                            const uint32_t block[3], uint32_t sharedBytes, void **arguments, const uint32_t *,
                            uint32_t) {
    self(launcher).enqueue(kernel, static_cast<CUstream>(stream), grid, block, sharedBytes, arguments);
  };
  p3d_launcher::workspace = [](p3d_launcher *launcher, void *stream, int64_t bytes) {
    return static_cast<void *>(self(launcher).scratch(static_cast<CUstream>(stream), bytes));
  };
  p3d_launcher::refuse = [](p3d_launcher *, const char *message) { userError("{}", message); };
  p3d_launcher::multiprocessors = context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p3d_launcher::sharedBytesPerBlock = context.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
}

void Launcher::enqueue(const std::string &kernel, CUstream stream, const uint32_t grid[3], const uint32_t block[3],
                       uint32_t sharedBytes, void **arguments) {
  P3D_CU(cuLaunchKernel, kernels.find(kernel, sharedBytes), grid[0], grid[1], grid[2], block[0], block[1], block[2],
         sharedBytes, stream, arguments, nullptr);
  ++launched;
}

char *Launcher::scratch(CUstream stream, int64_t bytes) {
  Scratch &scratch = scratches[stream];
  if (bytes > scratch.bytes) {
    // Freeing waits for every stream of the device, also for one that waits for a peer, which may wait for what this
    // rank has yet to enqueue.
    scratch = {allocated.emplace_back(allocateDevice(bytes, "scratch")).get(), bytes};
  }
  return reinterpret_cast<char *>(scratch.memory);
}

} // namespace p3d
