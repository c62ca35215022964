// A rank of the CUDA target: one device, and NCCL to the other ranks.
#include "runtime/Rank.h"
#include "runtime/Comm/Nccl/NcclTransport.h"
#include "runtime/Cuda/Current.h"
#include "runtime/Guard.h"
#include "runtime/Train/Trainer.h"
#include <cstdlib>

namespace p3d {

CurrentRank currentRank;

/// The device of this rank among those that the process sees.
static int ordinalOf(int rank) {
  const char *local = std::getenv("LOCAL_RANK");
  int wanted = local ? std::atoi(local) : rank, devices = 0;
  P3D_CU(cuDeviceGetCount, &devices);
  if (wanted >= devices)
    deviceError("local rank {} needs a device of its own, and this machine shows {}; start fewer ranks here", wanted,
                devices);
  return wanted;
}

void runRank(const Control &control, int rank) {
  Program program = Program::parse(p3d_program);
  if (program.mesh.size() != control.worldSize() || program.mesh.coordinates(rank).pp != program.stage)
    internalError("the program of stage {} was started as rank {} of {}", program.stage, rank, control.worldSize());
  ControlHeader &header = control.header();
  RunOptions options = RunOptions::fromJson(std::string(header.options, size_t(header.optionsBytes)));
  RankArea &area = control.rank(rank);
  setText(area.operation, "start of the device");
  CudaDevice device(program, ordinalOf(rank), {p3d_images, p3d_library_images});
  Watchdog watchdog(program, rank, control, device.context, int64_t(options.timeoutSeconds * 1e9));
  ControlIdExchange ids(control, rank);
  setText(area.operation, "making of communicators");
  NcclTransport transport(program, rank, control, device, watchdog, ids);
  p3d_context context{program, rank, program.mesh.coordinates(rank), control, device, transport};
  currentRank = {&context, &device};
  device.einsum.allowAtomics(!options.deterministic);
  if (options.cudaGraph)
    device.replayOrders([&](const std::function<void()> &launch) {
      watchdog.follow(device.streams.compute(), {Activity::Running, nullptr, {}, -1, {}}, launch);
    });
  area.activity.store(uint32_t(Activity::Running));
  // Unwinding would wait for streams that an error may have left stuck.
  guard(&context, [&] {
    Trainer(context, options, p3d_tasks).run();
    device.synchronize();
  });
  area.activity.store(uint32_t(Activity::Finished), std::memory_order_release);
}

} // namespace p3d
