// The parts of the search for an order: a rule that makes one, and local moves that improve it.
#pragma once

#include "passes/Schedule/ScheduleTiming.h"

namespace p3d {

/// A chain of stages of one chunk, whose backward is split.
struct OrderProblem {
  int64_t microbatches, live;
  ScheduleCosts costs;
  std::vector<Transfer> transfers; ///< of the chain

  int64_t countStages() const { return costs.tasks.size(); }
  const TaskCosts &costsOf(int64_t stage) const { return costs.tasks[stage].front(); }
};

/// What is made small: the longest span of a stage, then that of all, then the sum of the spans.
struct OrderCost {
  double stageSpan = 0, makespan = 0, sumOfSpans = 0;

  OrderCost() = default;
  OrderCost(const OrderProblem &problem, const Schedule &schedule);
  explicit OrderCost(const ScheduleTiming &timing);
  bool isBelow(const OrderCost &other) const;
};

/// Whether `schedule` ends however a target sends.
bool canRun(const OrderProblem &problem, const Schedule &schedule);

/// The switches of the rule.
struct GreedySettings {
  double lead;              ///< forwards ahead of the backwards, in ways to the last stage and back
  bool delaysFirstBackward; ///< whether a forward may begin that ends after the first backward could begin
  bool fillsShortGaps;      ///< whether the stage that idled most puts a W where less time than that would be idle
};

/// Decides in the order of time: each stage that is free takes the forward or the backward that has arrived, and a W
/// where it would be idle as long, or where no more microbatches may live.
Schedule makeGreedyOrder(const OrderProblem &problem, GreedySettings settings);

/// Moves actions that delay the longest stage to other places of their order while that makes the cost less.
void improveOrder(const OrderProblem &problem, Schedule &schedule);

} // namespace p3d
