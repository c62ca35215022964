// The rank processes: started with their inherited memory, watched, and all
// ended together.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"
#include "runtime/tools/p3d-run/Build.h"
#include "runtime/tools/p3d-run/Cluster/Placement.h"
#include <sys/types.h>

namespace p3d {

class Ranks {
public:
  /// Makes the arenas of the ranks of `placement`, which are started here.
  /// `control` has the options in it.
  Ranks(const Build &build, const Control &control,
        const Placement &placement, std::vector<int> inheritedFds);
  /// Ends every rank that still runs.
  ~Ranks();
  Ranks(const Ranks &) = delete;

  void start();
  /// Called for each rank that has ended; throws an Error with the report of
  /// the run's failure unless the rank had finished.
  void collect(int rank);
  void stopAll();

  int count() const { return int(processes.size()); }
  bool isRunning(int rank) const { return processes[rank].pid > 0; }
  bool anyRuns() const;
  int pidFd(int rank) const { return processes[rank].pidFd; }

private:
  struct Process {
    pid_t pid = -1;
    int pidFd = -1;
  };
  void startRank(int rank);
  [[noreturn]] void becomeRank(int rank, pid_t launcher);
  [[noreturn]] void reportDeath(int rank, int status);

  const Build &build;
  const Control &control;
  const Placement &placement;
  std::vector<int> inheritedFds;
  std::vector<Process> processes;
};

} // namespace p3d
