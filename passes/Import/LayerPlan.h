// Where a program's layers are: parts of the chain of operations that depend on parameters and inputs.
#pragma once

#include "passes/Import/Dependence.h"
#include <optional>

namespace p3d::import {

/// Operations [begin, end) of the chain; layers are numbered in its order.
struct LayerPart {
  size_t begin, end;
  bool isLayer;
};

struct LayerPlan {
  /// The active operations in an order of their dependences.
  llvm::SmallVector<mlir::Operation *> chain;
  /// The chain from begin to end.
  llvm::SmallVector<LayerPart> parts;
};

/// Finds the layers: periods of the longest repeated chain between cuts at which one activation is alive. A value that reaches across layers (a skip
/// connection, an encoder's output) and sums over the batch (those of auxiliary losses) do not count. Parts that are no layer stand before the first layer and
/// after the last one only; what stands between layers belongs to the layer behind it.
LayerPlan planLayers(graph::ProgramOp program, const Dependence &dependence);

/// Whether `op` may add to a sum that is carried from layer to layer; a constant operand is the start of the sum.
bool isCarriedSum(mlir::Operation *op, const Dependence &dependence);

} // namespace p3d::import
