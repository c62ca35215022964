// A rank's GPU: context, arena, streams, kernels; the training loop's device.
#pragma once
#include "runtime/Cuda/DevicePieces.h"
#include "runtime/Cuda/Einsum.h"
#include "runtime/Cuda/Launcher.h"
#include "runtime/Cuda/Staging.h"
#include "runtime/Cuda/Streams.h"
#include "runtime/Program/Program.h"
#include "runtime/Train/Device.h"

namespace p3d {

class CudaDevice : public Device {
public:
  /// Takes the device `ordinal`, makes the arena and loads the kernels of `images`.
  CudaDevice(const Program &program, int ordinal, const std::vector<const p3d_image *> &images);
  ~CudaDevice() override;

  char *arena() override { return reinterpret_cast<char *>(arenaMemory.get()); }
  void write(const std::vector<ArenaRange> &ranges, const std::function<void(const HostRanges &)> &fill) override;
  void read(const std::vector<ArenaRange> &ranges, const std::function<void(const HostRanges &)> &use) override;
  void zero(ArenaRange range) override;
  int64_t memoryBytes() const override { return allocatedDeviceBytes(); }
  void runOrder(const std::function<void()> &order) override;
  void runTask(const std::function<void()> &task) override;
  double gradientNorm(p3d_context &context) override;
  void update(p3d_context &context, const RunOptions &options, int64_t number, double learningRate,
              double gradientScale) override;

  Launches launches() const override;
  /// Counts an operation of NCCL.
  void countCollective() { ++collectives; }

  /// The device's copy of a constant, made at its first use and kept.
  void *constants(const void *host, int64_t bytes);
  /// From the second order on, the order is captured as one graph, and then replayed; `launch` gets what launches it.
  void replayOrders(std::function<void(const std::function<void()> &)> launch) { launchGraph = std::move(launch); }
  /// Waits until the compute stream, and what it waits for, is done.
  void synchronize();

  Context context;
  KernelTable kernels;
  Streams streams;
  Launcher launcher;
  Einsum einsum;

private:
  /// Tensors of a launch over all parameters, in device memory.
  struct TensorTable {
    CUdeviceptr memory = 0;
    int32_t tensors = 0;
    int64_t blocks = 0;
    const p3d_cuda_tensor *get() const { return reinterpret_cast<const p3d_cuda_tensor *>(memory); }
  };
  TensorTable makeTable(std::vector<p3d_cuda_tensor> tensors);
  p3d_cuda_tensor tensorOf(const Param &param, p3d_context &context, double weightDecay);
  void upload(CUdeviceptr to, const void *from, int64_t bytes);

  /// The first byte of the arena that the program has left to the runtime.
  CUdeviceptr behindProgram(const Program &program) const;

  DeviceMemory arenaMemory;
  DevicePieces pieces;
  CUdeviceptr squaredNorm, stepConstants;
  Staging staging;
  std::map<const void *, CUdeviceptr> constantCopies;
  std::function<void(const std::function<void()> &)> launchGraph; ///< none: orders are gone through
  bool hasRun = false;
  GraphExec graph;
  int64_t collectives = 0;
  Launches ofGraph, replayed; ///< what the graph does once, and what it has done
  TensorTable normTable, updateTable;
};

} // namespace p3d
