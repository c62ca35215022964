// A rank of the CPU target: arenas that all ranks map, and a transport over
// them.
#include "runtime/Rank.h"
#include "kernels/Kernels.h"
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "runtime/Context.h"
#include "runtime/Cpu/CpuDevice.h"
#include "runtime/Train/Trainer.h"

namespace p3d {

void runRank(const Control &control, int rank) {
  ControlHeader &header = control.header();
  Program program = Program::parse(p3d_program);
  RunOptions options = RunOptions::fromJson(
      std::string(header.options, size_t(header.optionsBytes)));
  Arenas arenas(rank, std::vector<int>(header.arenaFds,
                                       header.arenaFds + header.worldSize));
  SharedMemoryTransport transport(program, rank, control, arenas,
                                  int64_t(options.timeoutSeconds * 1e9));
  CpuDevice device(arenas);
  p3d_set_threads(options.threads);
  p3d_context context{program, rank,   program.mesh.coordinates(rank),
                      control, device, transport};
  if (program.mesh.size() != control.worldSize() ||
      context.at.pp != program.stage)
    internalError("the program of stage {} was started as rank {} of {}",
                  program.stage, rank, control.worldSize());
  if (arenas.bytes(rank) < program.arenaBytes)
    internalError("the arena has {} bytes, the program needs {}",
                  arenas.bytes(rank), program.arenaBytes);
  context.area().activity.store(uint32_t(Activity::Running));
  Trainer(context, options, p3d_tasks).run();
  context.area().activity.store(uint32_t(Activity::Finished),
                                std::memory_order_release);
}

} // namespace p3d
