// What the launchers of kernels/CudaKernels.h need, on the driver.
#pragma once
#include "kernels/CudaKernels.h"
#include "runtime/Cuda/KernelTable.h"
#include <map>

namespace p3d {

class Launcher : public p3d_launcher {
public:
  Launcher(const Context &context, KernelTable &kernels);

  void enqueue(const std::string &kernel, CUstream stream, const uint32_t grid[3], const uint32_t block[3],
               uint32_t sharedBytes, void **arguments);
  /// Scratch for a stream; without, or where more is asked for, it is allocated.
  void useScratch(CUstream stream, CUdeviceptr memory, int64_t bytes) { scratches[stream] = {memory, bytes}; }
  /// Scratch of a stream, which grows to the largest that was asked for; smaller ones stay until the end.
  char *scratch(CUstream stream, int64_t bytes);
  /// Kernels enqueued since the start.
  int64_t count() const { return launched; }

private:
  struct Scratch {
    CUdeviceptr memory = 0;
    int64_t bytes = 0;
  };
  KernelTable &kernels;
  int64_t launched = 0;
  std::map<CUstream, Scratch> scratches;
  std::vector<DeviceMemory> allocated;
};

} // namespace p3d
