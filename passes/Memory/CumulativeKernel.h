// The kernel of graph.cumulative: a loop that carries the combination so far.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace p3d::memory {

/// A detached kernel from the flat memory of the operand to that of the result.
mlir::func::FuncOp buildCumulativeKernel(graph::CumulativeOp op);

} // namespace p3d::memory
