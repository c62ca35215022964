// The driver as the runtime meets it: libcuda.so.1 opened by name, each call found by its symbol.
#pragma once
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#define P3D_STRING_OF(x) #x
#define P3D_STRING(x) P3D_STRING_OF(x)

/// A symbol of a shared library; ends the program if either is missing.
inline void *symbolOf(const char *library, const char *name) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *symbol = handle ? dlsym(handle, name) : nullptr;
  if (!symbol) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return symbol;
}

/// Holds a stream, by a host function, until the test lets it go.
class Gate {
public:
  void open() {
    std::lock_guard<std::mutex> lock(mutex);
    isOpen = true;
    changed.notify_all();
  }
  /// The host function; `gate` is a Gate.
  static void wait(void *gate) {
    auto *self = static_cast<Gate *>(gate);
    std::unique_lock<std::mutex> lock(self->mutex);
    self->changed.wait(lock, [&] { return self->isOpen; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool isOpen = false;
};

struct Driver {
#define CALL(name)                                                                                                     \
  decltype(&::name) name = reinterpret_cast<decltype(&::name)>(symbolOf("libcuda.so.1", P3D_STRING(name)));
  CALL(cuInit)
  CALL(cuDriverGetVersion)
  CALL(cuDeviceGetCount)
  CALL(cuDeviceGet)
  CALL(cuDeviceGetName)
  CALL(cuDeviceGetAttribute)
  CALL(cuDeviceTotalMem)
  CALL(cuDeviceCanAccessPeer)
  CALL(cuDevicePrimaryCtxRetain)
  CALL(cuDevicePrimaryCtxRelease)
  CALL(cuCtxSetCurrent)
  CALL(cuModuleLoadData)
  CALL(cuModuleUnload)
  CALL(cuModuleGetFunction)
  CALL(cuFuncSetAttribute)
  CALL(cuFuncGetAttribute)
  CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor)
  CALL(cuMemAlloc)
  CALL(cuMemFree)
  CALL(cuMemGetInfo)
  CALL(cuMemHostAlloc)
  CALL(cuMemFreeHost)
  CALL(cuMemcpyHtoDAsync)
  CALL(cuMemcpyDtoHAsync)
  CALL(cuMemcpyDtoDAsync)
  CALL(cuMemsetD8Async)
  CALL(cuMemsetD32Async)
  CALL(cuStreamCreate)
  CALL(cuStreamDestroy)
  CALL(cuStreamSynchronize)
  CALL(cuStreamQuery)
  CALL(cuStreamWaitEvent)
  CALL(cuStreamWaitValue32)
  CALL(cuEventCreate)
  CALL(cuEventRecord)
  CALL(cuEventSynchronize)
  CALL(cuEventQuery)
  CALL(cuEventElapsedTime)
  CALL(cuEventDestroy)
  CALL(cuLaunchKernel)
  CALL(cuLaunchHostFunc)
  CALL(cuStreamBeginCapture)
  CALL(cuStreamEndCapture)
  CALL(cuGraphInstantiate)
  CALL(cuGraphLaunch)
  CALL(cuGraphDestroy)
  CALL(cuGraphExecDestroy)
  CALL(cuGetErrorName)
  CALL(cuGetErrorString)
  CALL(cuGetProcAddress)
#undef CALL

  /// Ends the program with the call's name when it fails.
  void must(CUresult result, const char *what) const {
    const char *name = "?";
    if (result == CUDA_SUCCESS)
      return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
  }
};
#define MUST(driver, call) (driver).must((driver).call, #call)

/// A context on device 0 with the test kernels; what is made here is released with it.
class Device : public Driver {
public:
  Device() {
    MUST((*this), cuInit(0));
    MUST((*this), cuDevicePrimaryCtxRetain(&context, 0));
    MUST((*this), cuCtxSetCurrent(context));
  }
  ~Device() {
    for (CUstream stream : streams)
      MUST((*this), cuStreamSynchronize(stream));
    for (CUstream stream : streams)
      MUST((*this), cuStreamDestroy(stream));
    for (CUevent event : events)
      MUST((*this), cuEventDestroy(event));
    for (CUdeviceptr address : memory)
      MUST((*this), cuMemFree(address));
    for (void *address : pinned)
      MUST((*this), cuMemFreeHost(address));
    if (module)
      MUST((*this), cuModuleUnload(module));
    MUST((*this), cuDevicePrimaryCtxRelease(0));
  }

  CUstream stream() {
    streams.emplace_back();
    MUST((*this), cuStreamCreate(&streams.back(), CU_STREAM_NON_BLOCKING));
    return streams.back();
  }
  CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    events.emplace_back();
    MUST((*this), cuEventCreate(&events.back(), flags));
    return events.back();
  }
  CUdeviceptr allocate(size_t bytes) {
    memory.emplace_back();
    MUST((*this), cuMemAlloc(&memory.back(), bytes));
    return memory.back();
  }
  template <typename T> T *host(size_t count) {
    pinned.emplace_back();
    MUST((*this), cuMemHostAlloc(&pinned.back(), count * sizeof(T), 0));
    return static_cast<T *>(pinned.back());
  }
  CUfunction kernel(const char *name) {
    if (!module) {
      std::ifstream stream(P3D_TEST_KERNELS, std::ios::binary);
      std::vector<char> image{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
      image.resize(image.size() + 64);
      MUST((*this), cuModuleLoadData(&module, image.data()));
    }
    CUfunction function;
    MUST((*this), cuModuleGetFunction(&function, module, name));
    return function;
  }
  template <typename... Arguments>
  void launch(CUstream stream, const char *name, unsigned grid, unsigned block, Arguments... arguments) {
    void *pointers[] = {&arguments...};
    MUST((*this), cuLaunchKernel(kernel(name), grid, 1, 1, block, 1, 1, 0, stream, pointers, nullptr));
  }
  /// `second` continues after what `first` has now.
  void order(CUstream first, CUstream second) {
    CUevent between = event();
    MUST((*this), cuEventRecord(between, first));
    MUST((*this), cuStreamWaitEvent(second, between, 0));
  }
  std::vector<float> read(CUdeviceptr from, size_t count, CUstream stream) {
    float *staged = host<float>(count);
    MUST((*this), cuMemcpyDtoHAsync(staged, from, count * sizeof(float), stream));
    MUST((*this), cuStreamSynchronize(stream));
    return {staged, staged + count};
  }

private:
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  std::vector<CUstream> streams;
  std::vector<CUevent> events;
  std::vector<CUdeviceptr> memory;
  std::vector<void *> pinned;
};
