// Short forms for building scalar arithmetic.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace p3d::memory {

struct ScalarExpr {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  ScalarExpr(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    return builder.create<Op>(loc, std::forward<Args>(args)...);
  }
  mlir::Value constant(mlir::Type type, double value) {
    if (llvm::isa<mlir::FloatType>(type))
      return builder.create<mlir::arith::ConstantOp>(loc, builder.getFloatAttr(type, value));
    return constant(type, llvm::APInt(type.getIntOrFloatBitWidth(), static_cast<int64_t>(value), /*isSigned=*/true));
  }
  mlir::Value constant(mlir::Type type, const llvm::APInt &value) {
    return builder.create<mlir::arith::ConstantOp>(loc, builder.getIntegerAttr(type, value));
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return create<mlir::arith::CmpIOp>(predicate, a, b);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) {
    return create<mlir::arith::CmpFOp>(predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return create<mlir::arith::SelectOp>(condition, a, b);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return create<mlir::arith::AddFOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return create<mlir::arith::SubFOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return create<mlir::arith::MulFOp>(a, b); }
  mlir::Value mul(mlir::Value a, double b) { return mul(a, constant(a.getType(), b)); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return create<mlir::arith::DivFOp>(a, b); }
};

} // namespace p3d::memory
