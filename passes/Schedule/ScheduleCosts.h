// How long the actions of a schedule take.
#pragma once

#include "passes/Schedule/Action.h"

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

} // namespace p3d
