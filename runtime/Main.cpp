// main() of a rank: a stage executable started by p3d-run, which hands it the
// control region and the arenas as inherited file descriptors. `stage<k>
// --describe` prints the program's description instead.
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "runtime/Context.h"
#include "runtime/Train/Trainer.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace p3d;

static int refuse(const char *name) {
  std::fprintf(stderr,
               "%s: error: a rank runs under p3d-run only: start with "
               "p3d-run DIR --steps=N\n",
               name);
  return int(ExitCode::UserError);
}

static void runRank(const Control &control, int rank) {
  ControlHeader &header = control.header();
  Program program = Program::parse(p3d_program);
  RunOptions options = RunOptions::fromJson(
      std::string(header.options, size_t(header.optionsBytes)));
  Arenas arenas(rank, std::vector<int>(header.arenaFds,
                                       header.arenaFds + header.worldSize));
  SharedMemoryTransport transport(program, rank, control, arenas,
                                  int64_t(options.timeoutSeconds * 1e9));
  p3d_context context{program, rank,   program.mesh.coordinates(rank),
                      control, arenas, transport};
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

int main(int argc, char **argv) {
  if (argc == 2 && std::strcmp(argv[1], "--describe") == 0)
    return std::fputs(p3d_program, stdout) < 0 || std::fflush(stdout) != 0;
  const char *controlFd = std::getenv("P3D_CONTROL_FD");
  const char *rankText = std::getenv("P3D_RANK");
  if (argc != 1 || !controlFd || !rankText)
    return refuse(argv[0]);
  int rank = std::atoi(rankText);
  try {
    Control control = Control::open(std::atoi(controlFd));
    if (rank < 0 || rank >= control.worldSize())
      return refuse(argv[0]);
    control.rank(rank).pid.store(getpid());
    try {
      runRank(control, rank);
      return int(ExitCode::Success);
    } catch (const Error &error) {
      control.reportFailure(rank, error.code(), error.what());
      return int(error.code());
    } catch (const std::bad_alloc &) {
      // unreachable from input: p3d-run refuses what memory cannot hold
      control.reportFailure(rank, ExitCode::UserError,
                            "this machine is out of memory");
      return int(ExitCode::UserError);
    } catch (const std::exception &error) {
      control.reportFailure(rank, ExitCode::InternalError, error.what());
      return int(ExitCode::InternalError);
    }
  } catch (const Error &error) {
    std::fprintf(stderr, "%s: error: %s\n", argv[0], error.what());
    return int(error.code());
  }
}
