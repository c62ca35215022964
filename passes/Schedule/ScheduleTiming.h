// How long a schedule takes: a task begins when its stage is free and what it needs has arrived.
#pragma once

#include "passes/Schedule/ScheduleChecker.h"

namespace p3d {

/// Times of the actions of one chunk of a stage, of one unit throughout. Without W actions the backward takes
/// `backward + weightGradient`.
struct TaskCosts {
  double forward, backward, weightGradient;
};

/// Of `action` in a schedule that splits backwards or does not.
double durationOf(Action action, const TaskCosts &cost, bool split);

struct ScheduleCosts {
  std::vector<std::vector<TaskCosts>> tasks; ///< of each stage, of each of its chunks
  double communication = 0;                  ///< added where a value comes from another stage

  /// Each stage takes `stage`, each of its chunks an equal part of it.
  static ScheduleCosts uniform(int64_t stages, TaskCosts stage, double communication = 0, int64_t chunks = 1);
};

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

/// Times `schedule`, which passed the checker.
ScheduleTiming timeSchedule(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers, const ScheduleCosts &costs);

} // namespace p3d
