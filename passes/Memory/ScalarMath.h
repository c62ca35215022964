// The arithmetic of one element: graph operations on scalars.
//
// A scalar stands in the type it is computed in: f32 for the floats of 16 bits, each result rounded to its own type; i1 for i1; signless integers.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace p3d::memory {

/// The type in which elements of `element` are computed.
mlir::Type computeType(mlir::Type element);
/// From and to what memory holds.
mlir::Value fromMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored, mlir::Type element);
mlir::Value toMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, mlir::Type element);
/// Rounds a computed scalar to the precision of `element`.
mlir::Value roundTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, mlir::Type element);

/// Result `number` of an element-wise graph operation of scalars; null, with an error emitted, where the type has no such operation.
mlir::Value scalarOp(mlir::OpBuilder &builder, mlir::Operation *op, unsigned number, mlir::ValueRange operands);

/// a combined with b by graph.reduce's kind (its number), and the value that changes nothing.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, uint32_t kind, mlir::Type element, mlir::Value a,
                    mlir::Value b);
mlir::TypedAttr neutral(uint32_t kind, mlir::Type element);

bool isUnsignedElement(mlir::Type element);

} // namespace p3d::memory
