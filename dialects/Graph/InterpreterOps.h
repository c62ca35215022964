// What the files of the interpreter share: the topics' entry points and walks over indices.
#pragma once

#include "dialects/Graph/Interpreter.h"
#include <optional>

namespace p3d::graph::interpreter {

using Operands = llvm::ArrayRef<const Tensor *>;

// Each returns nullopt for an operation of another topic.
std::optional<Tensors> evaluateElementwise(mlir::Operation *op, Operands operands);
std::optional<Tensors> evaluateCombining(mlir::Operation *op, Operands operands);
std::optional<Tensors> evaluateNamed(mlir::Operation *op, Operands operands);
std::optional<Tensors> evaluateAttention(mlir::Operation *op, Operands operands);
// Of operations that depend on positions; `shard` may be null.
std::optional<Tensors> evaluateShape(mlir::Operation *op, Operands operands, const ShardPosition *shard);
std::optional<Tensors> evaluateRows(mlir::Operation *op, Operands operands, const ShardPosition *shard);

/// One result.
inline Tensors single(Tensor tensor) {
  Tensors results;
  results.push_back(std::move(tensor));
  return results;
}

inline Tensor zeros(mlir::Value value) { return Tensor(tensorType(value)); }

/// Calls fn(position, index) for each index of `shape` in row-major order.
template <typename Fn> void forEachIndex(llvm::ArrayRef<int64_t> shape, Fn fn) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t position = 0; position < count; ++position) {
    fn(position, llvm::ArrayRef<int64_t>(index));
    for (int64_t dim = shape.size() - 1; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
  }
}

/// The position of `index` under `strides`.
inline int64_t positionOf(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides) {
  int64_t position = 0;
  for (auto [i, stride] : llvm::zip(index, strides))
    position += i * stride;
  return position;
}

/// Copies one element between tensors of one element type.
inline void copyElement(Tensor &to, int64_t toPosition, const Tensor &from, int64_t fromPosition) {
  if (to.isFloat())
    to.floats[toPosition] = from.floats[fromPosition];
  else
    to.ints[toPosition] = from.ints[fromPosition];
}

/// Result dimension i is dimension permutation[i] of `operand`.
Tensor transpose(const Tensor &operand, llvm::ArrayRef<int64_t> permutation);

/// `operand` summed over `dims`, which the result lacks.
Tensor sumOver(const Tensor &operand, llvm::ArrayRef<int64_t> dims);

/// Number of rows and length of a row (the last dimension) of a tensor of rank 1 or more.
struct Rows {
  int64_t count, length;
  explicit Rows(const Tensor &tensor)
      : count(tensor.shape.back() ? tensor.size() / tensor.shape.back() : 0), length(tensor.shape.back()) {}
};

} // namespace p3d::graph::interpreter
