// Which values a gradient passes through, over the program and its blocks together: a block is differentiated once for all its calls.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/DenseSet.h"

namespace p3d {

struct Activity {
  /// Floats that depend on a parameter in a differentiable way, at some call.
  llvm::DenseSet<mlir::Value> active;
  /// Those of them on which the loss depends in a differentiable way, at some call: they have gradients.
  llvm::DenseSet<mlir::Value> wanted;
  /// Values that depend on inputs, buffers or frozen arguments; the others come from parameters and constants alone.
  llvm::DenseSet<mlir::Value> varying;

  bool isWeight(mlir::Value value) const { return !varying.contains(value); }
  /// Whether the gradient of result `index` of `block` is passed to its backward block.
  bool isResultWanted(graph::BlockOp block, unsigned index) const { return wantedResults.contains({block, index}); }
  /// `to` takes the place of `from`.
  void replace(mlir::Value from, mlir::Value to);

  llvm::DenseSet<std::pair<mlir::Operation *, unsigned>> wantedResults;
};

/// Whether `argument` is a float argument of role "param".
bool isParameter(mlir::BlockArgument argument);

/// Emits an error if a block calls a block.
mlir::FailureOr<Activity> analyzeActivity(graph::ProgramOp program);

} // namespace p3d
