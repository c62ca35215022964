// The calls of the driver that only the stand-in for NCCL makes; those that the runtime also makes are in runtime/Cuda.
#pragma once
#include "runtime/Cuda/Owners.h"

// The one list of calls.
#define P3D_STAND_IN_CALLS(CALL)                                                                                       \
  CALL(cuCtxGetCurrent)                                                                                                \
  CALL(cuCtxGetDevice)                                                                                                 \
  CALL(cuEventSynchronize)                                                                                             \
  CALL(cuStreamIsCapturing)                                                                                            \
  CALL(cuStreamWaitValue32)

namespace p3dtest {

struct StandInCalls {
#define P3D_DECLARE(name) decltype(&::name) name;
  P3D_STAND_IN_CALLS(P3D_DECLARE)
#undef P3D_DECLARE
};

/// Found in libcuda.so.1 at the first call; a DeviceError where one is missing.
const StandInCalls &standInCalls();

} // namespace p3dtest

/// Makes one of these calls and throws if it fails.
#define P3D_STAND_IN_CU(call, ...) ::p3d::checkDriver(::p3dtest::standInCalls().call(__VA_ARGS__), #call)
