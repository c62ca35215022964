// Where rounding decides: points at which an operation jumps, or its gradient does.
#pragma once

#include "dialects/Graph/Interpreter.h"

namespace p3d::fuzz {

/// Whether an element of an operand is so near to where `op` jumps that sums in another order may lie on the other side.
bool isNearJump(mlir::Operation *op, llvm::ArrayRef<const graph::Tensor *> operands, llvm::ArrayRef<graph::Tensor> results);

} // namespace p3d::fuzz
