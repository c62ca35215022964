// The program as a training step: forward calls, backward calls in reverse, gradients and updates.
#pragma once

#include "passes/Autodiff/SplitBlock.h"
#include "llvm/ADT/StringMap.h"

namespace p3d {

/// By the name of the block.
using BlockGradients = llvm::StringMap<BlockGradient>;

/// Rewrites `program` in place. Its blocks are no longer called afterwards. `optimizer` is that of graph.update, or "none".
mlir::LogicalResult makeTrainingStep(graph::ProgramOp program, const BlockGradients &blocks, Activity &activity,
                                     llvm::StringRef optimizer);

} // namespace p3d
