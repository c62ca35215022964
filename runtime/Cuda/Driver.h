// The CUDA driver: the calls that the runtime makes, found in libcuda.so.1 when the first is needed.
#pragma once
#include "runtime/Cuda/SharedLibrary.h"
#include <cuda.h>

// The one list of calls.
#define P3D_DRIVER_CALLS(CALL)                                                                                         \
  CALL(cuInit)                                                                                                         \
  CALL(cuDeviceGetCount)                                                                                               \
  CALL(cuDeviceGet)                                                                                                    \
  CALL(cuDeviceGetName)                                                                                                \
  CALL(cuDeviceGetAttribute)                                                                                           \
  CALL(cuDeviceGetPCIBusId)                                                                                            \
  CALL(cuDeviceGetByPCIBusId)                                                                                          \
  CALL(cuDeviceCanAccessPeer)                                                                                          \
  CALL(cuDevicePrimaryCtxRetain)                                                                                       \
  CALL(cuDevicePrimaryCtxRelease)                                                                                      \
  CALL(cuCtxSetCurrent)                                                                                                \
  CALL(cuModuleLoadData)                                                                                               \
  CALL(cuModuleUnload)                                                                                                 \
  CALL(cuModuleGetFunction)                                                                                            \
  CALL(cuFuncSetAttribute)                                                                                             \
  CALL(cuMemAlloc)                                                                                                     \
  CALL(cuMemFree)                                                                                                      \
  CALL(cuMemGetInfo)                                                                                                   \
  CALL(cuMemHostAlloc)                                                                                                 \
  CALL(cuMemFreeHost)                                                                                                  \
  CALL(cuMemcpyHtoDAsync)                                                                                              \
  CALL(cuMemcpyDtoHAsync)                                                                                              \
  CALL(cuMemcpyDtoDAsync)                                                                                              \
  CALL(cuMemsetD8Async)                                                                                                \
  CALL(cuStreamCreate)                                                                                                 \
  CALL(cuStreamDestroy)                                                                                                \
  CALL(cuStreamSynchronize)                                                                                            \
  CALL(cuStreamQuery)                                                                                                  \
  CALL(cuStreamWaitEvent)                                                                                              \
  CALL(cuEventCreate)                                                                                                  \
  CALL(cuEventRecord)                                                                                                  \
  CALL(cuEventQuery)                                                                                                   \
  CALL(cuEventElapsedTime)                                                                                             \
  CALL(cuEventDestroy)                                                                                                 \
  CALL(cuLaunchKernel)                                                                                                 \
  CALL(cuStreamBeginCapture)                                                                                           \
  CALL(cuStreamEndCapture)                                                                                             \
  CALL(cuGraphInstantiate)                                                                                             \
  CALL(cuGraphLaunch)                                                                                                  \
  CALL(cuGraphDestroy)                                                                                                 \
  CALL(cuGraphExecDestroy)                                                                                             \
  CALL(cuGetErrorName)                                                                                                 \
  CALL(cuGetErrorString)

namespace p3d {

struct Driver {
#define P3D_DECLARE(name) decltype(&::name) name;
  P3D_DRIVER_CALLS(P3D_DECLARE)
#undef P3D_DECLARE
  /// The driver is the emulated one, which runs LLVM bitcode.
  bool acceptsBitcode;
};

/// The driver, opened and initialised at the first call. A DeviceError without one or without a device.
const Driver &driver();

/// Throws a DeviceError that names `call`, unless `result` is success.
void checkDriver(CUresult result, const char *call);

} // namespace p3d

/// Makes a call of the driver and throws if it fails.
#define P3D_CU(call, ...) ::p3d::checkDriver(::p3d::driver().call(__VA_ARGS__), #call)
