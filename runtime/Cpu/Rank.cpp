// A rank of the CPU target: arenas that all ranks of a host map, and a transport
// over them.
#include "runtime/Rank.h"
#include "kernels/Kernels.h"
#include "runtime/Comm/Hosts/HostsTransport.h"
#include "runtime/Context.h"
#include "runtime/Cpu/CpuDevice.h"
#include "runtime/Train/Trainer.h"

namespace p3d {

static std::unique_ptr<Transport>
makeTransport(const Program &program, int rank, const Control &control,
              Arenas &arenas, int64_t timeoutNs) {
  for (int other = 0; other < control.worldSize(); ++other)
    if (!control.shareMemory(rank, other))
      return std::make_unique<HostsTransport>(program, rank, control, arenas,
                                              timeoutNs);
  return std::make_unique<SharedMemoryTransport>(program, rank, control, arenas,
                                                 timeoutNs);
}

/// Whether no other rank of the host can map this one's memory.
static bool isAlone(const Control &control, int rank) {
  for (int other = 0; other < control.worldSize(); ++other)
    if (other != rank && control.shareMemory(rank, other))
      return false;
  return true;
}

void runRank(const Control &control, int rank) {
  ControlHeader &header = control.header();
  Program program = Program::parse(p3d_program);
  RunOptions options = RunOptions::fromJson(
      std::string(header.options, size_t(header.optionsBytes)));
  Arenas arenas(rank,
                std::vector<int>(header.arenaFds,
                                 header.arenaFds + header.worldSize),
                isAlone(control, rank));
  std::unique_ptr<Transport> transport = makeTransport(
      program, rank, control, arenas, int64_t(options.timeoutSeconds * 1e9));
  CpuDevice device(arenas);
  p3d_set_threads(options.threads);
  p3d_context context{program, rank,   program.mesh.coordinates(rank),
                      control, device, *transport};
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
