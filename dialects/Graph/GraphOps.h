// The graph dialect: what a loss function computes, in global shapes before partitioning and local ones after.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Graph/GraphDialect.h.inc"
#include "dialects/Graph/GraphEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.h.inc"

namespace p3d::graph {

/// Result element i depends on element i of each operand alone; operands and results have one shape.
template <typename ConcreteType>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {};

// Names of the attributes on arguments and results of programs and blocks.
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";
inline constexpr llvm::StringLiteral kRoleAttr = "graph.role";
/// The role, and the name, of the scalar that autodiff adds to a program that computes in f16: the gradient of the loss, with which the backward pass begins.
inline constexpr llvm::StringLiteral kLossScale = "loss_scale";
inline constexpr llvm::StringLiteral kGlobalShapeAttr = "graph.global_shape";
inline constexpr llvm::StringLiteral kPieceOffsetAttr = "graph.piece_offset";
inline constexpr llvm::StringLiteral kPieceShapeAttr = "graph.piece_shape";
/// The sdy.sharding that the user gave an argument.
inline constexpr llvm::StringLiteral kUserShardingAttr = "graph.user_sharding";
inline constexpr llvm::StringLiteral kSavesAttr = "graph.saves";
inline constexpr llvm::StringLiteral kBackwardOfAttr = "graph.backward_of";
inline constexpr llvm::StringLiteral kWeightGradientOfAttr = "graph.weight_gradient_of";
// A forward op's number within its block, and on a backward op the number of its forward op and "input_grad" or "weight_grad".
inline constexpr llvm::StringLiteral kIdAttr = "graph.id";
inline constexpr llvm::StringLiteral kOfAttr = "graph.of";
inline constexpr llvm::StringLiteral kGradRoleAttr = "graph.grad_role";

/// Type of `value` as the static tensor that every graph value is.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

} // namespace p3d::graph

#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.h.inc"

namespace p3d::graph {

/// What a call is called in messages and by what stages keep of it: "layer3", or its block without ".fwd".
std::string nameOf(CallOp call);

} // namespace p3d::graph
