// A step of all ranks, simulated: the tasks of each stage in their order, begun when what they need has arrived. All
// ranks of a stage do the same at the same time, so one stands for all of them. Where the devices of a node share its
// cores, those that compute at the same time share its speed.
#pragma once

#include "compiler/CostTable.h"
#include "compiler/StageCosts.h"

namespace p3d {

struct StepTiming {
  std::vector<ActionSpan> synchronizes, updates; ///< of each stage
  ScheduleTiming schedule; ///< from the first F on
  double seconds = 0;      ///< from the prologue to the end of the last update
  double update = 0;       ///< of that, the last update
};

/// `schedule` passed the checker. The last updates wait for the norm of the gradient, and that for all stages.
StepTiming simulateStep(const Schedule &schedule, llvm::ArrayRef<Transfer> transfers, const StepCosts &costs,
                        const RankOrder &order, const Cluster &cluster);

/// The step of a scheduled module; with `measured`, those are the times of its F, B, W and transfers, and it begins with
/// the first F.
StepTiming timeStep(mlir::ModuleOp scheduled, const StepCosts &costs, const RankOrder &order, const Cluster &cluster,
                    const std::optional<CostTable> &measured);

/// The same with the costs of the model.
struct TimedStep {
  StepCosts costs;
  StepTiming timing;
};
TimedStep timeStep(mlir::ModuleOp scheduled, RankOrder::Kind rankOrder, const Cluster &cluster,
                   const std::optional<CostTable> &measured);

} // namespace p3d
