// Ranks that hold up others by being slow: a device that throttles, a host with other work. All ranks of a stage compute the same.
#pragma once
#include "runtime/tools/p3d-run/Build.h"

namespace p3d {

class Stragglers {
public:
  explicit Stragglers(const Build &build) : build(build), busyNs(build.worldSize()) {}

  /// What `rank` did in a step but wait.
  void add(int rank, int64_t ns) { busyNs[rank] += ns; }
  /// After a step of all ranks.
  void endStep() { ++steps; }

  /// A line for the slowest rank of each stage that took 1.5 times as long as the middle one of its stage; none before ten steps.
  std::vector<std::string> report() const;

private:
  std::string reportStage(const std::vector<int> &ranks) const;

  const Build &build;
  std::vector<int64_t> busyNs; ///< of each rank, in all
  int64_t steps = 0;
};

} // namespace p3d
