// What the tests of the CUDA forms run on: the emulator's executor (EmulatedLauncher.cpp), or a driver's device
// (test/gpu/DeviceLauncher.cpp). Either way a call has been carried out when it returns, on memory of
// test/kernels/Buffer.h.
#pragma once
#include "kernels/CudaKernels.h"

namespace p3dtest {

/// A launcher that poisons its workspace before each call; what it refuses ends the program with the message.
p3d_launcher *testLauncher();
/// The stream of every call.
void *testStream();

} // namespace p3dtest
