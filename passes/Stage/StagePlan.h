// Which part of the pipeline each operation of the training step belongs to.
#pragma once

#include "passes/Stage/TrainingStep.h"
#include "passes/Support/Placement.h"

namespace p3d {

/// What a pipeline looks like: the chain of layers is cut into a part for each chunk of each stage.
struct PipelineShape {
  int64_t stages, chunks = 1;
  Placement placement = Placement::Loop;
};

/// The decision of the cut: pure data about a program, made before anything is rewritten. Parts are numbered along the
/// chain.
class StagePlan {
public:
  /// Cuts `step` into the parts of `shape`; `counts` is "auto" or layers per part. Emits an error that names what does not
  /// fit.
  static mlir::FailureOr<StagePlan> make(const TrainingStep &step, PipelineShape shape, llvm::StringRef counts);

  const PipelineShape shape;
  int64_t numParts() const { return layers.size(); }
  /// First and last layer of each part; the first is above the last in a part of a program without layers.
  llvm::SmallVector<std::pair<int64_t, int64_t>> layers;
  /// The part of a forward or backward operation, except of gradient sums.
  int64_t partOf(mlir::Operation *op) const { return parts.lookup(op); }
  /// Where a part stands.
  Part placeOf(int64_t part) const { return partAt(shape.placement, part, shape.stages); }

private:
  explicit StagePlan(PipelineShape shape) : shape(shape) {}
  /// A unit that is not cut: a layer, or in a program without layers a call. Calls between layers belong to the layer
  /// before them.
  struct Unit {
    int64_t layer = -1;
    int64_t cost = 0;
    llvm::SmallVector<graph::CallOp, 1> calls;
  };
  static mlir::FailureOr<llvm::SmallVector<Unit>> collectUnits(const TrainingStep &step, int64_t parts);
  void placeCalls(const TrainingStep &step, llvm::ArrayRef<Unit> units, llvm::ArrayRef<int64_t> counts);
  void placeForward(const TrainingStep &step);
  void placeBackward(const TrainingStep &step);
  mlir::LogicalResult checkFlow(const TrainingStep &step) const;

  std::string nameOf(int64_t part) const;

  llvm::DenseMap<mlir::Operation *, int64_t> parts;
};

} // namespace p3d
