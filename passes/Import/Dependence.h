// What each value of a program depends on: parameters, inputs, both, or neither.
#pragma once

#include "dialects/Graph/GraphOps.h"

namespace p3d::import {

enum class Source : uint8_t {
  Constant = 0,  ///< neither parameters nor inputs
  Input = 1,     ///< inputs only: masks, targets
  Parameter = 2, ///< parameters only: a weight's conversion
  Active = 3     ///< both: activations
};

inline Source operator|(Source a, Source b) { return Source(uint8_t(a) | uint8_t(b)); }
inline bool dependsOnInputs(Source source) { return uint8_t(source) & uint8_t(Source::Input); }
inline bool dependsOnParameters(Source source) { return uint8_t(source) & uint8_t(Source::Parameter); }

class Dependence {
public:
  explicit Dependence(graph::ProgramOp program);
  Source of(mlir::Value value) const { return sources.lookup(value); }
  /// The source of an operation's results.
  Source of(mlir::Operation *op) const { return op->getNumResults() ? of(op->getResult(0)) : Source::Constant; }

  /// Whether `value` is a sum over the batch, or follows from such sums alone: a scalar, or a vector (of numbers per expert) that sums over dimension 0.
  bool isBatchSum(mlir::Value value) const { return graph::tensorType(value).getRank() == 0 || batchSums.contains(value); }

private:
  bool sumsBatch(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, Source> sources;
  llvm::DenseSet<mlir::Value> batchSums;
};

} // namespace p3d::import
