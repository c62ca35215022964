// How the results of a block reach its caller.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/DenseMap.h"

namespace p3d::memory {

/// A result is an argument under another shape (the caller then uses what it passed), the same as an earlier result, or memory that the caller gives.
struct BlockResult {
  enum Kind { Argument, Result, Out } kind;
  unsigned index; ///< of the argument, of the earlier result, or among the outs
};

/// One entry per result of `block`.
llvm::SmallVector<BlockResult> blockResults(graph::BlockOp block);

/// `value` without the reshapes that led to it.
mlir::Value throughReshapes(mlir::Value value);

} // namespace p3d::memory
