#include "runtime/Cuda/CudaDevice.h"
#include <cstring>

namespace p3d {

CudaDevice::CudaDevice(const Program &program, int ordinal, const std::vector<const p3d_image *> &images)
    : context(ordinal), kernels(images), streams(program.events), launcher(context, kernels),
      einsum(&launcher, streams.compute()), arenaMemory(allocateDevice(program.arenaBytes, "arena")),
      pieces(behindProgram(program), program.runtimeBytes), squaredNorm(pieces.take(sizeof(double), "norm")),
      stepConstants(pieces.take(sizeof(p3d_cuda_step), "constants")), staging(streams.compute()) {
  if (program.workspaceBytes == 0)
    return;
  CUdeviceptr next = behindProgram(program) + CUdeviceptr(program.runtimeBytes);
  for (size_t i = 0; i < program.streamScratch.size(); ++i) {
    launcher.useScratch(streams.handleOf(P3D_STREAM_TP + int(i)), next, program.streamScratch[i]);
    next += CUdeviceptr(program.streamScratch[i]);
  }
  // Kernels and products follow each other on one stream.
  einsum.useWorkspace(next, program.workspaceBytes);
  launcher.useScratch(streams.compute(), next, program.workspaceBytes);
}

CUdeviceptr CudaDevice::behindProgram(const Program &program) const {
  int64_t bytes = program.runtimeBytes + program.workspaceBytes;
  for (int64_t scratch : program.streamScratch)
    bytes += scratch;
  return arenaMemory.get() + CUdeviceptr(program.arenaBytes - bytes);
}

CudaDevice::~CudaDevice() { streams.settle(); }

static int64_t bytesOf(const std::vector<ArenaRange> &ranges) {
  constexpr int64_t alignment = 16;
  int64_t bytes = 0;
  for (const ArenaRange &range : ranges)
    if (range.offset >= 0)
      bytes += (range.bytes + alignment - 1) / alignment * alignment;
  return bytes;
}

/// Places for the ranges from `at` on.
static HostRanges placesFor(const std::vector<ArenaRange> &ranges, char *at) {
  HostRanges places;
  for (const ArenaRange &range : ranges) {
    places.push_back(range.offset >= 0 ? at : nullptr);
    at += bytesOf({range});
  }
  return places;
}

void CudaDevice::write(const std::vector<ArenaRange> &ranges, const std::function<void(const HostRanges &)> &fill) {
  HostRanges places = placesFor(ranges, staging.take(bytesOf(ranges)));
  fill(places);
  for (size_t i = 0; i < ranges.size(); ++i)
    if (places[i] && ranges[i].bytes > 0)
      P3D_CU(cuMemcpyHtoDAsync, arenaMemory.get() + CUdeviceptr(ranges[i].offset), places[i], size_t(ranges[i].bytes),
             streams.compute());
}

void CudaDevice::read(const std::vector<ArenaRange> &ranges, const std::function<void(const HostRanges &)> &use) {
  // Between tasks other streams are not waited for: a send ends only when its receiver is there, and that one may wait
  // for what this rank does next. What a task computes with, the compute stream has waited for.
  HostRanges places = placesFor(ranges, staging.take(bytesOf(ranges)));
  for (size_t i = 0; i < ranges.size(); ++i)
    if (places[i] && ranges[i].bytes > 0)
      P3D_CU(cuMemcpyDtoHAsync, places[i], arenaMemory.get() + CUdeviceptr(ranges[i].offset), size_t(ranges[i].bytes),
             streams.compute());
  synchronize();
  use(places);
}

void CudaDevice::runOrder(const std::function<void()> &order) {
  // The first order finds kernels, makes constants and scratch memory, and connects ranks: what a graph cannot hold.
  bool captures = launchGraph && hasRun && !graph;
  hasRun = true;
  Launches before = launches();
  if (captures)
    streams.beginCapture();
  if (!graph) {
    streams.fork();
    order();
    streams.join();
  }
  if (captures) {
    Graph captured = streams.endCapture();
    CUgraphExec made;
    P3D_CU(cuGraphInstantiate, &made, captured.get(), 0);
    graph = GraphExec(made);
    ofGraph = launches() - before;
  } else if (graph) {
    replayed = replayed + ofGraph;
  }
  if (graph) {
    launchGraph([this] { P3D_CU(cuGraphLaunch, graph.get(), streams.compute()); });
    ++replayed.graphs;
  }
  streams.fork();
}

void CudaDevice::runTask(const std::function<void()> &task) {
  streams.fork();
  task();
  streams.join();
  streams.fork();
}

Launches CudaDevice::launches() const {
  return Launches{launcher.count(), einsum.products(), collectives, 0} + replayed;
}

void CudaDevice::zero(ArenaRange range) {
  if (range.offset >= 0 && range.bytes > 0)
    P3D_CU(cuMemsetD8Async, arenaMemory.get() + CUdeviceptr(range.offset), 0, size_t(range.bytes), streams.compute());
}

void CudaDevice::synchronize() {
  P3D_CU(cuStreamSynchronize, streams.compute());
  staging.clear();
  streams.takeStalls();
}

void CudaDevice::upload(CUdeviceptr to, const void *from, int64_t bytes) {
  char *staged = staging.take(bytes);
  std::memcpy(staged, from, size_t(bytes));
  P3D_CU(cuMemcpyHtoDAsync, to, staged, size_t(bytes), streams.compute());
}

void *CudaDevice::constants(const void *host, int64_t bytes) {
  CUdeviceptr &copy = constantCopies[host];
  if (!copy) {
    copy = pieces.take(bytes, "constants");
    if (bytes > 0)
      upload(copy, host, bytes);
  }
  return reinterpret_cast<void *>(copy);
}

} // namespace p3d
