// Which element-wise operations and sums around a matrix product are done by its command (target cuda).
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Memory/Fusion.h"
#include <functional>

namespace p3d::memory {

/// A product whose command does more.
struct ProductEpilogue {
  exec::Epilogue kind;
  graph::EinsumOp product;
  /// What the command stores instead of the product, or the product.
  mlir::Value result;
  /// Taken: the bias, or where the derivative is taken. Null: neither.
  mlir::Value taken;
  /// Stored besides: what the gelu is taken of. Null: nobody wants it.
  mlir::Value kept;
  /// The sum over rows, or null.
  graph::ReduceOp sum;
};

/// The decision for one region, after that on what has memory. The bias of a product is added by it where the sum has
/// memory or is all that a gelu needs, a gelu's derivative where the product is all that it multiplies. A bias's
/// gradient, a sum over rows, is made by the product that has its operand as its result, else by the one that sums over
/// the same rows, where it has the type of that product's result.
class Epilogues {
public:
  /// `elementOf` gives the element type of the memory that a value is to have.
  Epilogues(mlir::Block &region, const Fusion &fusion, std::function<mlir::Type(mlir::Value)> elementOf);

  /// The product whose command stands in the place of `op`, or null.
  const ProductEpilogue *at(mlir::Operation *op) const;
  /// Whether another operation's command does what `op` means.
  bool isDoneElsewhere(mlir::Operation *op) const { return done.contains(op) && !at(op); }

private:
  void matchBias(graph::EinsumOp product);
  void matchGeluGrad(graph::EinsumOp product);
  void matchOperandSum(graph::EinsumOp product);
  void add(mlir::Operation *place, ProductEpilogue epilogue);
  /// The vector that `value` repeats along the leading dimensions, if it has memory; else null.
  mlir::Value vectorOf(mlir::Value value) const;
  /// A sum of `operand` over its leading dimensions that no product makes yet, of the type of `product`'s memory.
  graph::ReduceOp sumOver(mlir::Value operand, mlir::Value product) const;
  bool isStored(mlir::Value value) const { return fusion.hasMemory(value) || llvm::isa<mlir::BlockArgument>(value); }

  const Fusion &fusion;
  std::function<mlir::Type(mlir::Value)> elementOf;
  llvm::DenseMap<mlir::Operation *, ProductEpilogue> places;
  llvm::DenseSet<mlir::Operation *> done;
};

} // namespace p3d::memory
