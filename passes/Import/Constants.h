// Integer scalars that are known at compile time: loop counters, trip counts, indices of slices.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace p3d {

/// The single integer that `attribute` holds, a tensor of one element or a splat; nullopt for other attributes.
std::optional<llvm::APInt> integerOf(mlir::Attribute attribute);

/// The value of an operation of StableHLO on integer tensors of one element, given those of its operands (null where unknown); null when it
/// does not follow or the operation is none of add, subtract, compare, select and their like.
mlir::ElementsAttr foldInteger(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands);

/// The value of `value`, an integer tensor of one element, where it follows from constants.
std::optional<llvm::APInt> evaluateInteger(mlir::Value value);

} // namespace p3d
