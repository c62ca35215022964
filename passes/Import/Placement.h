// Where the operations beside the chain go: into the one part that uses them, or to the top level of the program.
#pragma once

#include "passes/Import/LayerPlan.h"

namespace p3d::import {

class Placement {
public:
  Placement(graph::ProgramOp program, const Dependence &dependence, const LayerPlan &plan);

  /// Whether `op`, which is not of the chain, is computed inside part `part` where it is needed there.
  bool isInside(mlir::Operation *op) const { return !topLevel.contains(op); }
  /// The part of an operation of the chain.
  std::optional<size_t> partOf(mlir::Operation *op) const {
    auto it = parts.find(op);
    return it == parts.end() ? std::nullopt : std::optional(it->second);
  }

private:
  llvm::DenseMap<mlir::Operation *, size_t> parts;
  llvm::DenseSet<mlir::Operation *> topLevel;
};

} // namespace p3d::import
