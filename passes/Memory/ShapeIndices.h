// How the operations that only move elements (broadcast, transpose, reshape, slice, reverse, shard_slice) find the element of their operand.
#pragma once

#include "mlir/IR/Operation.h"
#include "passes/Memory/LinearIndex.h"
#include <optional>

namespace p3d::memory {

/// Whether `op` moves elements in a way that is a linear function of the indices.
bool isIndexChange(mlir::Operation *op);

/// Indices into the operand of `op`, an index change, of the element at `indices` of its result. `start` gives the number of the first row of a
/// shard_slice.
Indices operandIndices(mlir::Operation *op, llvm::ArrayRef<LinearIndex> indices, unsigned loopCount,
                       llvm::function_ref<mlir::Value(mlir::Operation *)> start);

} // namespace p3d::memory
