// The rank of this process, for calls that come without a context: the functions of kernels/Kernels.h.
#pragma once
#include "runtime/Context.h"
#include "runtime/Cuda/CudaDevice.h"

namespace p3d {

struct CurrentRank {
  p3d_context *context = nullptr;
  CudaDevice *device = nullptr;
};
extern CurrentRank currentRank;

} // namespace p3d
