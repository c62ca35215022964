// The reverse sweep over one body: backward operations appended before its terminator.
#pragma once

#include "passes/Autodiff/Activity.h"
#include "passes/Autodiff/Rules.h"

namespace p3d {

/// The gradient of a call: given those of its results (null where zero), adds those of its operands.
using CallRule = llvm::function_ref<mlir::LogicalResult(graph::CallOp, ResultGradients, Gradients &)>;

/// Numbers the operations of `body` with `graph.id`.
void numberOperations(mlir::Block &body);

/// Applies the rule of each forward operation of `body` in reverse to what `gradients`, seeded with gradients of results, knows, and marks the new
/// operations with `graph.of`. Emits an error at an operation without a rule.
mlir::LogicalResult sweepBackward(mlir::Block &body, Gradients &gradients, CallRule callRule);

/// Whether `op` is one that sweepBackward made.
inline bool isBackward(mlir::Operation &op) { return op.hasAttr(graph::kOfAttr); }

/// Those of `body`, the last first.
llvm::SmallVector<mlir::Operation *> backwardOperations(mlir::Block &body);

/// Erases backward operations that nothing uses.
void eraseUnusedBackward(mlir::Block &body);

/// Marks backward operations with `graph.grad_role`: "weight_grad" where neither they nor what they feed are the gradient of a value that varies with
/// inputs, else "input_grad".
void markGradRoles(mlir::Block &body, const Gradients &gradients, const Activity &activity);

} // namespace p3d
