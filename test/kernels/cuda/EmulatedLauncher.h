// Launchers of the CUDA kernels on the emulator's executor: kernels run at once, in the calling thread, on ordinary
// memory.
#pragma once
#include "kernels/CudaKernels.h"

namespace p3dtest {

/// A launcher of a device with few multiprocessors, so that blocks walk over several rows; what it refuses ends the
/// program with the message.
p3d_launcher *emulatedLauncher();

} // namespace p3dtest
