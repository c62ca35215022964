// A block's forward and backward halves.
#pragma once

#include "passes/Autodiff/SavedValues.h"

namespace p3d {

/// What a call of a block becomes.
struct BlockGradient {
  graph::BlockOp forward;
  /// Null where no gradient passes through the block.
  graph::BlockOp backward;
  /// Results whose gradients `backward` takes, arguments that it takes, arguments whose gradients it returns.
  llvm::SmallVector<unsigned> results, neededArguments, arguments;
};

/// Makes @b.fwd and @b.bwd of `block` @b, which stays as it is.
mlir::FailureOr<BlockGradient> differentiateBlock(graph::BlockOp block, const Activity &activity, Recompute policy);

} // namespace p3d
