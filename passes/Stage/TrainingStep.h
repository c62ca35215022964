// The training step as the cut sees it: what is forward, what backward, which gradient belongs to which parameter.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace p3d {

enum class Phase {
  Free,     ///< of weights alone or of data alone (masks, slices of inputs): each task that needs it computes it again
  Prologue, ///< a call whose results are complete before the first microbatch
  Forward,
  Backward, ///< gradients: calls of backward blocks, ops with `graph.of`, and what depends on them
  WeightGradient, ///< of the backward pass, where it is split: what only gradients of weights need
  Update
};

/// Whether operations of this phase are part of the backward pass.
inline bool isGradient(Phase phase) { return phase == Phase::Backward || phase == Phase::WeightGradient; }

/// A parameter with the sum over its uses of its gradient, and the program result that returns it.
struct ParameterGradient {
  mlir::BlockArgument parameter;
  mlir::Value gradient;
  unsigned result;
  graph::UpdateOp update; ///< null without an optimizer
};

/// Reads a `graph.program` made by autodiff and partitioned; changes nothing.
class TrainingStep {
public:
  /// Classifies the top level of `program`; emits an error where it is no training step.
  static mlir::FailureOr<TrainingStep> analyze(graph::ProgramOp program);

  llvm::SmallVector<graph::CallOp> forwardCalls;
  llvm::SmallVector<ParameterGradient> gradients;
  llvm::SmallVector<unsigned> results; ///< indices of the loss and the metrics among the program's results

  graph::ProgramOp getProgram() const { return program; }
  mlir::Block &getBody() const { return getProgram().getBody().front(); }
  Phase phaseOf(mlir::Operation *op) const { return phases.lookup(op); }
  /// Whether weight gradients are computed for themselves.
  bool splitsBackward() const { return isSplit; }
  /// The forward call whose backward call, or call for the weight gradients, this is.
  graph::CallOp forwardOf(graph::CallOp backward) const { return forwards.lookup(backward); }
  /// Looks through results that a block passes on from its arguments: the value that was passed in.
  mlir::Value source(mlir::Value value) const;
  /// True for an add whose only purpose is the sum of a parameter's gradient; accumulation replaces it.
  bool isGradientSum(mlir::Operation *op) const { return gradientSums.contains(op); }
  /// True for a value of the backward pass that becomes a part of gradients of weights and nothing else, and that
  /// nothing else is joined to before.
  bool feedsWeightGradientsAlone(mlir::Value value) const;
  /// The summands of a parameter's gradient.
  llvm::SmallVector<mlir::Value> contributions(mlir::Value gradient) const;

private:
  explicit TrainingStep(graph::ProgramOp program) : program(program) {}
  mlir::LogicalResult classify();
  Phase phaseByOperands(mlir::Operation *op);
  unsigned rootsOf(mlir::Value value) const;
  mlir::LogicalResult matchBackwardCalls();
  mlir::FailureOr<graph::CallOp> findForward(graph::CallOp backward, llvm::ArrayRef<graph::CallOp> open) const;
  bool isGradientResult(mlir::OpOperand &use) const;
  mlir::LogicalResult collectGradients();
  mlir::LogicalResult pairByUpdate(llvm::ArrayRef<unsigned> gradientResults);
  mlir::LogicalResult pairByOrder(llvm::ArrayRef<unsigned> gradientResults);
  void findGradientSums();

  graph::ProgramOp program;
  /// Which arguments a value depends on: trained or frozen weights, anything else.
  enum Roots : unsigned { kWeights = 1, kData = 2 };

  llvm::DenseMap<mlir::Operation *, Phase> phases;
  llvm::DenseMap<mlir::Operation *, unsigned> roots;
  llvm::DenseMap<mlir::Operation *, graph::CallOp> forwards;
  llvm::DenseSet<mlir::Operation *> gradientSums;
  llvm::DenseSet<unsigned> gradientResults; ///< of the program
  bool isSplit = false;
};

/// On an operation of the program, beside the blocks: it is of the phase WeightGradient.
inline constexpr llvm::StringLiteral kWeightGradientAttr = "graph.weight_gradient";

} // namespace p3d
