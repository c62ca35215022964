// The types of an op's results, or an error that says what it needs.
#pragma once

#include "passes/Partition/Proof/ValueType.h"

namespace p3d::partition::proof {

using ValueTypes = llvm::SmallVector<ValueType, 2>;
using OperandTypes = llvm::ArrayRef<const ValueType *>;

/// For every op but call, update and yield.
mlir::FailureOr<ValueTypes> typeOp(mlir::Operation *op, OperandTypes operands, dist::MeshAttr mesh);

/// For graph ops that are formulas over indices.
mlir::FailureOr<ValueTypes> typeFormula(mlir::Operation *op, OperandTypes operands, dist::MeshAttr mesh);
mlir::FailureOr<ValueTypes> typeReshape(graph::ReshapeOp op, OperandTypes operands, dist::MeshAttr mesh);
/// For ops of the dist dialect.
mlir::FailureOr<ValueTypes> typeMovement(mlir::Operation *op, const ValueType &operand, dist::MeshAttr mesh);

/// For each axis, whether the op's results are partial because operands are; fails where the op is not linear in them.
mlir::LogicalResult passPartial(mlir::Operation *op, OperandTypes operands, ValueType &result);

/// The type declared by `sharding` and `global` for a tensor that is `local` on each rank; fails, with an error at `op`
/// about `what`, where they contradict each other or the mesh. Both null: the whole is here.
mlir::FailureOr<ValueType> readDeclared(mlir::Operation *op, llvm::StringRef what, mlir::Attribute sharding,
                                        mlir::Attribute global, mlir::RankedTensorType local, dist::MeshAttr mesh);

/// A note at the value that operand `number` of `op` is.
void noteOperand(mlir::InFlightDiagnostic &error, mlir::Operation *op, unsigned number, const ValueType &type);

} // namespace p3d::partition::proof
