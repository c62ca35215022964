// Builds StableHLO operations whose result types follow from their operands.
#pragma once

#include "dialects/StableHLO/StableHLO.h"
#include "mlir/IR/Builders.h"

namespace p3d::model {

using Shape = llvm::SmallVector<int64_t>;

inline mlir::RankedTensorType typeOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }

/// Pairs of dimensions of the operands of a product.
struct DotDims {
  Shape lhsBatch, rhsBatch, lhsContracting, rhsContracting;
};

class TensorBuilder {
public:
  explicit TensorBuilder(mlir::MLIRContext *context) : builder(context), location(builder.getUnknownLoc()) {}

  mlir::OpBuilder &ops() { return builder; }
  mlir::Location loc() const { return location; }
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type i32() { return builder.getI32Type(); }

  mlir::Value constant(double value, mlir::Type element, llvm::ArrayRef<int64_t> shape = {});
  mlir::Value constant(llvm::ArrayRef<float> values);
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, int64_t dim, mlir::Type element);
  /// `dims` says which dimensions of the result those of `value` are.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  /// A vector over the last dimension of `like`, or rows over all but the last.
  mlir::Value broadcastVector(mlir::Value value, mlir::Value like);
  mlir::Value broadcastRows(mlir::Value value, mlir::Value like);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t start, int64_t limit);
  mlir::Value concatenate(llvm::ArrayRef<mlir::Value> values, int64_t dim);
  /// The product, in the type of its operands or in `element`.
  mlir::Value dot(mlir::Value lhs, mlir::Value rhs, const DotDims &dims, mlir::Type element = {});
  mlir::Value compare(stablehlo::ComparisonDirection direction, mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse);
  /// Rows `ids` of a matrix [rows, width]: [ids..., width].
  mlir::Value takeRows(mlir::Value matrix, mlir::Value ids);
  /// Of each row of `rows` [..., n] the element `ids` [...].
  mlir::Value takeElements(mlir::Value rows, mlir::Value ids);

  template <typename Op> mlir::Value unary(mlir::Value value) {
    return builder.create<Op>(location, mlir::TypeRange(value.getType()), mlir::ValueRange(value));
  }
  template <typename Op> mlir::Value binary(mlir::Value lhs, mlir::Value rhs) {
    return builder.create<Op>(location, lhs.getType(), lhs, rhs);
  }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs) { return binary<stablehlo::AddOp>(lhs, rhs); }
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs) { return binary<stablehlo::MulOp>(lhs, rhs); }
  mlir::Value scale(mlir::Value value, double factor) { return mul(value, splatLike(value, factor)); }
  mlir::Value splatLike(mlir::Value like, double value) {
    return constant(value, typeOf(like).getElementType(), typeOf(like).getShape());
  }
  /// Reduces `dims` with Op, whose neutral element is `init`.
  template <typename Op> mlir::Value reduce(mlir::Value value, llvm::ArrayRef<int64_t> dims, double init) {
    return reduce(value, dims, init,
                  [](mlir::OpBuilder &inner, mlir::Location at, mlir::Value a, mlir::Value b) -> mlir::Value {
                    return inner.create<Op>(at, a.getType(), a, b);
                  });
  }
  mlir::Value sum(mlir::Value value, llvm::ArrayRef<int64_t> dims) { return reduce<stablehlo::AddOp>(value, dims, 0); }

  /// While it lives, operations are located at the part `name` of the model.
  class Scope {
  public:
    Scope(TensorBuilder &owner, llvm::StringRef name) : owner(owner), outer(owner.location) {
      owner.location = mlir::NameLoc::get(owner.builder.getStringAttr(name));
    }
    ~Scope() { owner.location = outer; }

  private:
    TensorBuilder &owner;
    mlir::Location outer;
  };

private:
  using Combine = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value, mlir::Value)>;
  mlir::Value reduce(mlir::Value value, llvm::ArrayRef<int64_t> dims, double init, Combine combine);
  mlir::Value gather(mlir::Value operand, mlir::Value indices, stablehlo::GatherDimensionNumbersAttr dims,
                     llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> shape);

  mlir::OpBuilder builder;
  mlir::Location location;
};

} // namespace p3d::model
