#include "test/gpu/DeviceLauncher.h"
#include "test/kernels/Buffer.h"
#include "test/kernels/cuda/TestLauncher.h"
#include <cassert>
#include <cstdio>
#include <cstdlib>

using namespace p3d;

namespace {

struct SynchronousLauncher : p3d_launcher {
  p3dtest::TestDevice *device = nullptr;
};
SynchronousLauncher tests;

/// What goes wrong on the device is this kernel's doing.
void launch(p3d_launcher *, const char *kernel, void *stream, const uint32_t grid[3], const uint32_t block[3],
            uint32_t sharedBytes, void **arguments, const uint32_t *, uint32_t) {
  try {
    tests.device->launcher.enqueue(kernel, static_cast<CUstream>(stream), grid, block, sharedBytes, arguments);
    tests.device->synchronize();
  } catch (const DeviceError &error) {
    deviceError("kernel {} with a grid of {} x {} x {} blocks of {} threads and {} bytes of shared memory: {}", kernel,
                grid[0], grid[1], grid[2], block[0] * block[1] * block[2], sharedBytes, error.what());
  }
}

void *workspace(p3d_launcher *, void *stream, int64_t bytes) {
  char *memory = tests.device->launcher.scratch(static_cast<CUstream>(stream), bytes);
  P3D_CU(cuMemsetD8Async, reinterpret_cast<CUdeviceptr>(memory), 0xff, size_t(bytes), static_cast<CUstream>(stream));
  return memory;
}

void refuse(p3d_launcher *, const char *message) {
  std::fprintf(stderr, "%s\n", message);
  std::abort();
}

} // namespace

namespace p3dtest {

DeviceTests::DeviceTests(TestDevice &device, int multiprocessors) {
  tests.launch = launch, tests.workspace = workspace, tests.refuse = refuse;
  tests.multiprocessors = multiprocessors > 0 ? multiprocessors : device.launcher.multiprocessors;
  tests.sharedBytesPerBlock = device.launcher.sharedBytesPerBlock;
  tests.device = &device;
}

DeviceTests::~DeviceTests() { tests.device = nullptr; }

p3d_launcher *testLauncher() { return &tests; }
void *testStream() { return tests.device->stream.get(); }

// Pinned memory, which with unified addressing kernels reach at the host's own address. Nothing is copied, and what a
// kernel has written is there when the launcher has waited for it.
void *allocateBuffer(size_t bytes) {
  void *memory;
  P3D_CU(cuMemHostAlloc, &memory, bytes > 0 ? bytes : 1, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  return memory;
}
void releaseBuffer(void *memory) noexcept { (void)driver().cuMemFreeHost(memory); }

} // namespace p3dtest
