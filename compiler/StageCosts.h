// How long the tasks of each stage take on a cluster: the roofline of every operation, with what good kernels reach of
// the peaks, and the ring or tree times of the collectives on their links. Blocks are costed once each, so the time
// that this takes grows with the tasks of the stages, not with ranks or microbatches.
#pragma once

#include "compiler/RankOrder.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Schedule/ScheduleTiming.h"
#include "passes/Support/Cluster.h"

namespace p3d {

/// Seconds on one rank of a stage.
struct StageCost {
  std::vector<TaskCosts> chunks;                    ///< for one microbatch
  double prologue = 0, synchronize = 0, update = 0; ///< once a step
  double messages = 0;                              ///< of all that, what a step spends in collectives
};

struct StepCosts {
  std::vector<StageCost> stages;
  double transfer = 0; ///< the longest from one stage to another
  double norm = 0;     ///< the sum of the gradient's norm, for which all ranks wait

  ScheduleCosts ofSchedule() const;
};

/// Of a module of the levels stage to schedule. In a backward that no W follows, what only the gradients of weights
/// need is told from the rest by the roles of its operations.
StepCosts stageCosts(mlir::ModuleOp module, RankOrder::Kind rankOrder, const Cluster &cluster);

} // namespace p3d
