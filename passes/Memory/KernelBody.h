// The body of a kernel: the scalars that lead from elements in memory to one element of a fused value.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "passes/Memory/LinearIndex.h"
#include <vector>

namespace p3d::memory {

/// Reads and scalars of one kernel under construction. Elements that it reads become arguments of `body`, in the order of `reads`; rows of shards and other numbers
/// known at run time become arguments of `numbers`, in the order of `starts`.
class KernelBody {
public:
  struct Read {
    mlir::Value memory;
    LinearIndex index;
  };

  /// `memoryOf` gives the memory of a tensor, or null if it is to be computed here; `startOf` the number of the first row that a positional operation
  /// sees.
  KernelBody(mlir::MLIRContext *context, unsigned loopCount, llvm::function_ref<mlir::Value(mlir::Value)> memoryOf,
             llvm::function_ref<mlir::Value(mlir::Operation *)> startOf);

  /// The scalar of `tensor` at `indices`; null, with an error emitted, where there is no such kernel.
  mlir::Value scalar(mlir::Value tensor, llvm::ArrayRef<LinearIndex> indices);
  /// The value of an index as a signless integer or float in the compute type of `element`.
  mlir::Value indexScalar(mlir::Location loc, const LinearIndex &index);

  mlir::Block numbers, body; // in this order: the body's operations use the numbers
  mlir::OpBuilder builder;
  std::vector<Read> reads;
  llvm::SmallVector<mlir::Value> starts;

private:
  mlir::Value read(mlir::Value tensor, mlir::Value memory, llvm::ArrayRef<LinearIndex> indices);
  mlir::Value compute(mlir::Value tensor, llvm::ArrayRef<LinearIndex> indices);
  mlir::Value iota(mlir::Operation *op, llvm::ArrayRef<LinearIndex> indices);
  mlir::Value maskPadding(mlir::Operation *op, llvm::ArrayRef<LinearIndex> indices);
  mlir::Value elementwise(mlir::Value tensor, llvm::ArrayRef<LinearIndex> indices);
  mlir::Value number(mlir::Value start);

  unsigned loopCount;
  llvm::function_ref<mlir::Value(mlir::Value)> memoryOf;
  llvm::function_ref<mlir::Value(mlir::Operation *)> startOf;
  struct Known {
    mlir::Value tensor;
    Indices indices;
    mlir::Value scalar;
  };
  std::vector<Known> known;
};

} // namespace p3d::memory
