#include "runtime/Cuda/Owners.h"
#include <atomic>

namespace p3d {

// Results are left out of account: a destructor has nobody to tell.
void destroyStream(CUstream stream) noexcept { (void)driver().cuStreamDestroy(stream); }
void destroyEvent(CUevent event) noexcept { (void)driver().cuEventDestroy(event); }
void unloadModule(CUmodule module) noexcept { (void)driver().cuModuleUnload(module); }
void freeDevice(CUdeviceptr memory) noexcept { (void)driver().cuMemFree(memory); }
void freePinned(char *memory) noexcept { (void)driver().cuMemFreeHost(memory); }

void destroyGraph(CUgraph graph) noexcept { (void)driver().cuGraphDestroy(graph); }
void destroyGraphExec(CUgraphExec graph) noexcept { (void)driver().cuGraphExecDestroy(graph); }

Stream makeStream() {
  CUstream stream;
  P3D_CU(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  return Stream(stream);
}

Event makeEvent(bool isTimed) {
  CUevent event;
  P3D_CU(cuEventCreate, &event, isTimed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  return Event(event);
}

Module loadModule(const void *image) {
  CUmodule module;
  P3D_CU(cuModuleLoadData, &module, image);
  return Module(module);
}

static std::atomic<int64_t> allocatedBytes = 0;

int64_t allocatedDeviceBytes() { return allocatedBytes; }

DeviceMemory allocateDevice(int64_t bytes, const char *what) {
  CUdeviceptr memory;
  // An empty range still gets an address.
  CUresult result = driver().cuMemAlloc(&memory, size_t(bytes > 0 ? bytes : 1));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    P3D_CU(cuMemGetInfo, &free, &total);
    constexpr double gibibyte = 1 << 30;
    deviceError("the device has too little memory: {:.3f} GiB for its {}, and {:.3f} of {:.3f} GiB are free",
                double(bytes) / gibibyte, what, double(free) / gibibyte, double(total) / gibibyte);
  }
  checkDriver(result, "cuMemAlloc");
  allocatedBytes += bytes;
  return DeviceMemory(memory);
}

PinnedMemory allocatePinned(int64_t bytes) {
  void *memory;
  P3D_CU(cuMemHostAlloc, &memory, size_t(bytes > 0 ? bytes : 1), 0);
  return PinnedMemory(static_cast<char *>(memory));
}

Context::Context(int device) {
  P3D_CU(cuDeviceGet, &handle, device);
  P3D_CU(cuDevicePrimaryCtxRetain, &context, handle);
  enter();
}

Context::~Context() { (void)driver().cuDevicePrimaryCtxRelease(handle); }

void Context::enter() const { P3D_CU(cuCtxSetCurrent, context); }

int Context::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  P3D_CU(cuDeviceGetAttribute, &value, attribute, handle);
  return value;
}

} // namespace p3d
