// Which stage each operation of the training step belongs to.
#pragma once

#include "passes/Stage/TrainingStep.h"

namespace p3d {

/// The decision of the cut: pure data about a program, made before anything is rewritten.
class StagePlan {
public:
  /// Cuts `step` into `stages` stages; `counts` is "auto" or layers per stage. Emits an error that names what does not
  /// fit.
  static mlir::FailureOr<StagePlan> make(const TrainingStep &step, int64_t stages, llvm::StringRef counts);

  int64_t numStages() const { return layers.size(); }
  /// First and last layer of each stage; the first is above the last in a stage of a program without layers.
  llvm::SmallVector<std::pair<int64_t, int64_t>> layers;
  /// The stage of a forward or backward operation, except of gradient sums.
  int64_t stageOf(mlir::Operation *op) const { return stages.lookup(op); }

private:
  StagePlan() = default;
  /// A unit that is not cut: a layer, or in a program without layers a call. Calls between layers belong to the layer
  /// before them.
  struct Unit {
    int64_t layer = -1;
    int64_t cost = 0;
    llvm::SmallVector<graph::CallOp, 1> calls;
  };
  static mlir::FailureOr<llvm::SmallVector<Unit>> collectUnits(const TrainingStep &step, int64_t stages);
  void placeCalls(const TrainingStep &step, llvm::ArrayRef<Unit> units, llvm::ArrayRef<int64_t> counts);
  void placeForward(const TrainingStep &step);
  void placeBackward(const TrainingStep &step);
  mlir::LogicalResult checkFlow(const TrainingStep &step) const;

  llvm::DenseMap<mlir::Operation *, int64_t> stages;
};

} // namespace p3d
