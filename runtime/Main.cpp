// main() of a stage executable. Started by a launcher, which hands it the control
// region and the arenas as inherited file descriptors, it is a rank; started as
// DIR/bin/rank it is the launcher of one rank. `stage<k> --describe` prints the
// program's description.
#include "runtime/Rank.h"
#include "runtime/include/p3d/runtime.h"
#include "runtime/tools/p3d-run/Launch.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace p3d;

static int refuse(const char *name) {
  std::fprintf(stderr,
               "%s: error: a rank needs a launcher: start all with p3d-run DIR "
               "--steps=N, or one with DIR/bin/rank --steps=N under mpirun, "
               "srun or torchrun\n",
               name);
  return int(ExitCode::UserError);
}

/// The directory DIR of DIR/bin/rank; empty if the name is another.
static std::string directoryOfRank(const std::string &name) {
  size_t slash = name.rfind('/');
  if (slash == std::string::npos || name.substr(slash + 1) != "rank")
    return "";
  return name.substr(0, slash) + "/..";
}

int main(int argc, char **argv) {
  if (argc == 2 && std::strcmp(argv[1], "--describe") == 0)
    return std::fputs(p3d_program, stdout) < 0 || std::fflush(stdout) != 0;
  const char *controlFd = std::getenv("P3D_CONTROL_FD");
  const char *rankText = std::getenv("P3D_RANK");
  if (std::string directory = directoryOfRank(argv[0]); !directory.empty())
    return launchRank(directory,
                      std::vector<std::string>(argv + 1, argv + argc));
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
