// The element-wise named operations (gelu, silu, swiglu and their gradients) on scalars.
#pragma once

#include "mlir/IR/Operation.h"
#include "passes/Memory/ScalarExpr.h"

namespace p3d::memory {

/// 1 / (1 + e^-x)
mlir::Value logistic(ScalarExpr &e, mlir::Value x);

/// Result `number` of `op`, or null if it is no element-wise named operation.
mlir::Value namedOp(ScalarExpr &e, mlir::Operation *op, unsigned number, mlir::ValueRange operands);

} // namespace p3d::memory
