// What one block holds: the operations of a part of the chain with what they need, its inputs and outputs, and a key that is equal for isomorphic
// bodies.
#pragma once

#include "passes/Import/Placement.h"

namespace p3d::import {

struct BlockBody {
  mlir::Location loc;
  llvm::SmallVector<mlir::Operation *> ops; ///< in an order of their dependences
  llvm::SetVector<mlir::Value> inputs;      ///< activations, then parameters, then the rest, each in the order of first use
  llvm::SmallVector<mlir::Value> outputs;   ///< in the order of definition
  llvm::SmallVector<const void *> key;
};

BlockBody collectBody(graph::ProgramOp program, const Dependence &dependence, const LayerPlan &plan, const Placement &placement, size_t part);

} // namespace p3d::import
