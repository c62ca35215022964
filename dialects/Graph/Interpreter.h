// The meaning of every graph operation: programs evaluated in double precision and exact integers.
//
// Floats of every type are computed as doubles, so that what is compared with the interpreter differs by its own rounding alone.
// Interpreter.cpp walks programs, blocks and calls; the operations stand in InterpreterElementwise, InterpreterShape,
// InterpreterCombining, InterpreterRows, InterpreterNamed and InterpreterAttention.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include <functional>
#include <vector>

namespace p3d::graph {

/// A dense tensor in row-major order. Elements of a float type are doubles in `floats`, those of an integer type exact in `ints`: sign-extended,
/// for unsigned types zero-extended (ui64 as its 64 bits), for i1 0 or 1. The other vector is empty.
struct Tensor {
  llvm::SmallVector<int64_t> shape;
  mlir::Type elementType;
  std::vector<double> floats;
  std::vector<int64_t> ints;

  Tensor() = default;
  /// A tensor of zeros.
  Tensor(llvm::ArrayRef<int64_t> shape, mlir::Type elementType);
  explicit Tensor(mlir::RankedTensorType type) : Tensor(type.getShape(), type.getElementType()) {}

  bool isFloat() const { return mlir::isa<mlir::FloatType>(elementType); }
  int64_t rank() const { return shape.size(); }
  int64_t size() const;
  mlir::RankedTensorType type() const { return mlir::RankedTensorType::get(shape, elementType); }
  /// Steps in `floats` or `ints` of one index in each dimension.
  llvm::SmallVector<int64_t> strides() const;
};

using Tensors = std::vector<Tensor>;

struct InterpretOptions {
  /// Round each float result to its element type, as a machine without wider intermediates would.
  bool roundToType = false;
  /// Called with each operation and its results, in order of execution, also inside blocks; with a call behind what is inside.
  std::function<void(mlir::Operation *, llvm::ArrayRef<Tensor>)> observe;
};

/// `value` reduced to the bits of `type`, in the form in which Tensor::ints holds it.
int64_t wrapInteger(int64_t value, mlir::Type type);

/// The elements of a constant; emits an error at `op` for attributes whose elements cannot be read.
mlir::FailureOr<Tensor> tensorOf(mlir::Operation *op, mlir::ElementsAttr value);

/// Elements of `to` combined with those of `from`, of the same type.
void combineInto(Tensor &to, const Tensor &from, ReduceKind kind);

/// The part of a dimension that an operation on a shard holds: it starts at `start` of the `full` elements of dimension `dim` of what is cut.
struct ShardPosition {
  int64_t dim, start, full;
};

/// Results of one operation other than program, block, call, yield and update; emits an error if `op` has no meaning here. `shard` is where an operation that depends on
/// positions stands, null for the whole; padding beyond the end of the dimension does not count.
mlir::FailureOr<Tensors> evaluate(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands, const ShardPosition *shard = nullptr);

/// The results of `program` applied to `inputs`; graph.update, which has no result, does nothing. Emits an error where an input's type is not the
/// argument's or an operation is not of this dialect.
mlir::FailureOr<Tensors> interpret(ProgramOp program, llvm::ArrayRef<Tensor> inputs, const InterpretOptions &options = {});

} // namespace p3d::graph
