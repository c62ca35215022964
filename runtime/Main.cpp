// main() of a rank: a stage executable started by p3d-run, which hands it the
// control region and the arenas as inherited file descriptors. `stage<k>
// --describe` prints the program's description instead.
#include "runtime/Rank.h"
#include "runtime/include/p3d/runtime.h"
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
