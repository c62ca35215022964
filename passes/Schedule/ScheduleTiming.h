// How long a schedule takes: a task begins when its stage is free and what it needs has arrived.
#pragma once

#include "passes/Schedule/ScheduleChecker.h"

namespace p3d {

struct ActionSpan {
  double start, end;
};

struct ScheduleTiming {
  std::vector<std::vector<ActionSpan>> spans; ///< for each stage, of its actions in order
  double makespan = 0;                        ///< from the first start to the last end over all stages
  double stageSpan = 0;                       ///< the longest (last end - first start) of a stage
  double bubble = 0;                          ///< 1 - busy / makespan, busy the mean over the stages
  double bubbleSpan = 0; ///< 1 - busy / stageSpan, busy of the stage with the longest span (arXiv 2401.10241)
};

/// What follows from when the actions of each stage run.
ScheduleTiming summarize(std::vector<std::vector<ActionSpan>> spans);

/// Times `schedule`, which is complete. If it deadlocks, all that it takes is infinite.
ScheduleTiming timeSchedule(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers, const ScheduleCosts &costs);

} // namespace p3d
