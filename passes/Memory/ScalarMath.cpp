// Element-wise operations of one and two operands, and reductions. What a result means at the edges (division by zero, NaN, overflow of a conversion)
// is what the graph's interpreter says.
#include "passes/Memory/ScalarMath.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Memory/NamedMath.h"
#include "passes/Memory/ScalarExpr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

bool p3d::memory::isUnsignedElement(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }

Type p3d::memory::computeType(Type element) {
  if (element.isBF16() || element.isF16())
    return Float32Type::get(element.getContext());
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Value p3d::memory::fromMemory(OpBuilder &builder, Location loc, Value stored, Type element) {
  ScalarExpr e(builder, loc);
  if (element.isInteger(1))
    return e.compare(arith::CmpIPredicate::ne, stored, e.constant(stored.getType(), 0));
  if (computeType(element) != element && isa<FloatType>(element))
    return builder.create<arith::ExtFOp>(loc, computeType(element), stored);
  return stored;
}

Value p3d::memory::toMemory(OpBuilder &builder, Location loc, Value scalar, Type element) {
  if (element.isInteger(1))
    return builder.create<arith::ExtUIOp>(loc, builder.getI8Type(), scalar);
  if (computeType(element) != element && isa<FloatType>(element))
    return builder.create<arith::TruncFOp>(loc, element, scalar);
  return scalar;
}

Value p3d::memory::roundTo(OpBuilder &builder, Location loc, Value scalar, Type element) {
  if (!isa<FloatType>(element) || computeType(element) == element)
    return scalar;
  return fromMemory(builder, loc, toMemory(builder, loc, scalar, element), element);
}

namespace {
/// Truncates; NaN gives 0, what is out of range the nearest bound.
Value floatToInt(ScalarExpr &e, Value x, Type to) {
  if (to.isInteger(1))
    return e.compare(arith::CmpFPredicate::UNE, x, e.constant(x.getType(), 0));
  unsigned width = to.getIntOrFloatBitWidth();
  bool isUnsigned = isUnsignedElement(to);
  Type integer = computeType(to);
  double high = std::ldexp(1.0, isUnsigned ? width : width - 1), low = isUnsigned ? 0 : -high;
  auto least = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  auto most = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  Value above = e.compare(arith::CmpFPredicate::OGE, x, e.constant(x.getType(), high));
  Value below = e.compare(arith::CmpFPredicate::OLE, x, e.constant(x.getType(), low));
  Value inside = e.select(e.compare(arith::CmpFPredicate::UNO, x, x), e.constant(x.getType(), 0), x);
  inside = e.select(above, e.constant(x.getType(), 0), e.select(below, e.constant(x.getType(), 0), inside));
  Value converted = isUnsigned ? Value(e.create<arith::FPToUIOp>(integer, inside))
                               : Value(e.create<arith::FPToSIOp>(integer, inside));
  return e.select(above, e.constant(integer, most), e.select(below, e.constant(integer, least), converted));
}

Value intToInt(ScalarExpr &e, Value x, Type from, Type to) {
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (to.isInteger(1))
    return from.isInteger(1) ? x : e.compare(arith::CmpIPredicate::ne, x, e.constant(x.getType(), 0));
  if (fromWidth == toWidth)
    return x;
  if (fromWidth > toWidth)
    return e.create<arith::TruncIOp>(computeType(to), x);
  return isUnsignedElement(from) ? Value(e.create<arith::ExtUIOp>(computeType(to), x))
                                 : Value(e.create<arith::ExtSIOp>(computeType(to), x));
}

Value convertScalar(ScalarExpr &e, Value x, Type from, Type to) {
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  Type target = computeType(to);
  if (fromFloat && toFloat) {
    if (x.getType().getIntOrFloatBitWidth() < target.getIntOrFloatBitWidth())
      return e.create<arith::ExtFOp>(target, x);
    return x.getType() == target ? x : Value(e.create<arith::TruncFOp>(target, x));
  }
  if (fromFloat)
    return floatToInt(e, x, to);
  if (!toFloat)
    return intToInt(e, x, from, to);
  return isUnsignedElement(from) ? Value(e.create<arith::UIToFPOp>(target, x))
                                 : Value(e.create<arith::SIToFPOp>(target, x));
}

/// Division and remainder without the machine's traps.
Value divideInts(ScalarExpr &e, Value a, Value b, bool isUnsigned, bool remainder) {
  Type type = a.getType();
  Value zero = e.constant(type, 0), minusOne = e.constant(type, APInt::getAllOnes(type.getIntOrFloatBitWidth()));
  Value byZero = e.compare(arith::CmpIPredicate::eq, b, zero);
  Value divisor = e.select(byZero, e.constant(type, 1), b);
  if (isUnsigned) {
    Value result = remainder ? Value(e.create<arith::RemUIOp>(a, divisor)) : Value(e.create<arith::DivUIOp>(a, divisor));
    return e.select(byZero, remainder ? a : minusOne, result);
  }
  Value negated = e.compare(arith::CmpIPredicate::eq, b, minusOne);
  divisor = e.select(negated, e.constant(type, 1), divisor);
  Value result = remainder ? Value(e.create<arith::RemSIOp>(a, divisor)) : Value(e.create<arith::DivSIOp>(a, divisor));
  result = e.select(negated, remainder ? zero : Value(e.create<arith::SubIOp>(zero, a)), result);
  return e.select(byZero, remainder ? a : minusOne, result);
}

Value shift(ScalarExpr &e, Value a, Value b, bool left) {
  Type type = a.getType();
  Value width = e.constant(type, APInt(type.getIntOrFloatBitWidth(), type.getIntOrFloatBitWidth()));
  Value fits = e.compare(arith::CmpIPredicate::ult, b, width);
  Value amount = e.select(fits, b, e.constant(type, 0));
  Value result = left ? Value(e.create<arith::ShLIOp>(a, amount)) : Value(e.create<arith::ShRUIOp>(a, amount));
  return e.select(fits, result, e.constant(type, 0));
}

arith::CmpIPredicate intPredicate(graph::ComparePredicate predicate, bool isUnsigned) {
  switch (predicate) {
  case graph::ComparePredicate::Eq:
    return arith::CmpIPredicate::eq;
  case graph::ComparePredicate::Ne:
    return arith::CmpIPredicate::ne;
  case graph::ComparePredicate::Lt:
    return isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  case graph::ComparePredicate::Le:
    return isUnsigned ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle;
  case graph::ComparePredicate::Gt:
    return isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
  case graph::ComparePredicate::Ge:
    return isUnsigned ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge;
  }
  llvm_unreachable("a predicate outside the enumeration");
}

arith::CmpFPredicate floatPredicate(graph::ComparePredicate predicate) {
  switch (predicate) {
  case graph::ComparePredicate::Eq:
    return arith::CmpFPredicate::OEQ;
  case graph::ComparePredicate::Ne:
    return arith::CmpFPredicate::UNE;
  case graph::ComparePredicate::Lt:
    return arith::CmpFPredicate::OLT;
  case graph::ComparePredicate::Le:
    return arith::CmpFPredicate::OLE;
  case graph::ComparePredicate::Gt:
    return arith::CmpFPredicate::OGT;
  case graph::ComparePredicate::Ge:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("a predicate outside the enumeration");
}

Value signOf(ScalarExpr &e, Value x) {
  Value zero = e.constant(x.getType(), 0), one = e.constant(x.getType(), 1), minusOne = e.constant(x.getType(), -1);
  return e.select(e.compare(arith::CmpFPredicate::OGT, x, zero), one,
                  e.select(e.compare(arith::CmpFPredicate::OLT, x, zero), minusOne, x));
}

/// A function of the C library without an operation in MLIR; declared in the kernel's module.
Value callLibrary(ScalarExpr &e, StringRef name, Value x) {
  std::string symbol = (name + (x.getType().isF32() ? "f" : "")).str();
  return e.builder.create<func::CallOp>(e.loc, symbol, TypeRange(x.getType()), ValueRange(x)).getResult(0);
}

Value floatUnary(ScalarExpr &e, Operation *op, Value x) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::NegOp) { return e.create<arith::NegFOp>(x); })
      .Case([&](graph::AbsOp) { return e.create<math::AbsFOp>(x); })
      .Case([&](graph::SignOp) { return signOf(e, x); })
      .Case([&](graph::ExpOp) { return e.create<math::ExpOp>(x); })
      .Case([&](graph::Expm1Op) { return callLibrary(e, "expm1", x); })
      .Case([&](graph::LogOp) { return e.create<math::LogOp>(x); })
      .Case([&](graph::Log1pOp) { return callLibrary(e, "log1p", x); })
      .Case([&](graph::SqrtOp) { return e.create<math::SqrtOp>(x); })
      .Case([&](graph::RsqrtOp) { return e.div(e.constant(x.getType(), 1), e.create<math::SqrtOp>(x)); })
      .Case([&](graph::CbrtOp) { return callLibrary(e, "cbrt", x); })
      .Case([&](graph::TanhOp) { return e.create<math::TanhOp>(x); })
      .Case([&](graph::LogisticOp) { return logistic(e, x); })
      // Not as polynomials: MLIR's lose their digits near the zeros and far from 0.
      .Case([&](graph::SinOp) { return callLibrary(e, "sin", x); })
      .Case([&](graph::CosOp) { return callLibrary(e, "cos", x); })
      .Case([&](graph::ErfOp) { return e.create<math::ErfOp>(x); })
      .Case([&](graph::ErfcOp) { return callLibrary(e, "erfc", x); })
      .Case([&](graph::FloorOp) { return e.create<math::FloorOp>(x); })
      .Case([&](graph::CeilOp) { return e.create<math::CeilOp>(x); })
      .Case([&](graph::RoundEvenOp) { return e.create<math::RoundEvenOp>(x); })
      .Case([&](graph::StopGradientOp) { return x; })
      .Case([&](graph::IsFiniteOp) {
        Value infinity = e.constant(x.getType(), std::numeric_limits<double>::infinity());
        return e.compare(arith::CmpFPredicate::OLT, e.create<math::AbsFOp>(x), infinity);
      })
      .Default(Value());
}

Value intUnary(ScalarExpr &e, Operation *op, Value x, bool isUnsigned) {
  Type type = x.getType();
  Value zero = e.constant(type, 0);
  Value minusOne = e.constant(type, APInt::getAllOnes(type.getIntOrFloatBitWidth()));
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::NegOp) { return e.create<arith::SubIOp>(zero, x); })
      .Case([&](graph::AbsOp) {
        return isUnsigned ? x : e.create<arith::MaxSIOp>(x, e.create<arith::SubIOp>(zero, x));
      })
      .Case([&](graph::SignOp) {
        Value one = e.constant(type, 1);
        if (isUnsigned)
          return e.create<arith::MinUIOp>(x, one);
        return e.create<arith::MaxSIOp>(e.create<arith::MinSIOp>(x, one), minusOne);
      })
      .Case([&](graph::NotOp) { return e.create<arith::XOrIOp>(x, minusOne); })
      .Case([&](graph::StopGradientOp) { return x; })
      .Default(Value());
}

Value floatBinary(ScalarExpr &e, Operation *op, Value a, Value b) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::AddOp) { return e.create<arith::AddFOp>(a, b); })
      .Case([&](graph::SubOp) { return e.create<arith::SubFOp>(a, b); })
      .Case([&](graph::MulOp) { return e.create<arith::MulFOp>(a, b); })
      .Case([&](graph::DivOp) { return e.create<arith::DivFOp>(a, b); })
      .Case([&](graph::MaxOp) { return e.create<arith::MaximumFOp>(a, b); })
      .Case([&](graph::MinOp) { return e.create<arith::MinimumFOp>(a, b); })
      .Case([&](graph::PowOp) { return e.create<math::PowFOp>(a, b); })
      .Case([&](graph::RemOp) { return e.create<arith::RemFOp>(a, b); })
      .Default(Value());
}

Value intBinary(ScalarExpr &e, Operation *op, Value a, Value b, bool isUnsigned) {
  bool isBool = a.getType().isInteger(1);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::AddOp) { return isBool ? e.create<arith::OrIOp>(a, b) : e.create<arith::AddIOp>(a, b); })
      .Case([&](graph::SubOp) { return e.create<arith::SubIOp>(a, b); })
      .Case([&](graph::MulOp) { return e.create<arith::MulIOp>(a, b); })
      .Case([&](graph::DivOp) { return divideInts(e, a, b, isUnsigned, false); })
      .Case([&](graph::RemOp) { return divideInts(e, a, b, isUnsigned, true); })
      .Case([&](graph::MaxOp) { return isUnsigned ? e.create<arith::MaxUIOp>(a, b) : e.create<arith::MaxSIOp>(a, b); })
      .Case([&](graph::MinOp) { return isUnsigned ? e.create<arith::MinUIOp>(a, b) : e.create<arith::MinSIOp>(a, b); })
      .Case([&](graph::AndOp) { return e.create<arith::AndIOp>(a, b); })
      .Case([&](graph::OrOp) { return e.create<arith::OrIOp>(a, b); })
      .Case([&](graph::XorOp) { return e.create<arith::XOrIOp>(a, b); })
      .Case([&](graph::ShiftLeftOp) { return shift(e, a, b, true); })
      .Case([&](graph::ShiftRightOp) { return shift(e, a, b, false); })
      .Default(Value());
}

/// Element-wise operations whose results are not of their operands' type.
Value mixedOp(ScalarExpr &e, Operation *op, ValueRange operands, Type element) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::ConvertOp op) {
        return convertScalar(e, operands[0], element, graph::tensorType(op.getResult()).getElementType());
      })
      .Case([&](graph::CompareOp op) {
        if (isa<FloatType>(element))
          return e.compare(floatPredicate(op.getPredicate()), operands[0], operands[1]);
        return e.compare(intPredicate(op.getPredicate(), isUnsignedElement(element)), operands[0], operands[1]);
      })
      .Case([&](graph::SelectOp) { return e.select(operands[0], operands[1], operands[2]); })
      .Default(Value());
}
} // namespace

Value p3d::memory::scalarOp(OpBuilder &builder, Operation *op, unsigned number, ValueRange operands) {
  ScalarExpr e(builder, op->getLoc());
  Type element = graph::tensorType(op->getOperand(0)).getElementType();
  bool isFloat = isa<FloatType>(element), isUnsigned = isUnsignedElement(element);
  Value result = mixedOp(e, op, operands, element);
  if (!result)
    result = namedOp(e, op, number, operands);
  if (!result && operands.size() == 1)
    result = isFloat ? floatUnary(e, op, operands[0]) : intUnary(e, op, operands[0], isUnsigned);
  if (!result && operands.size() == 2)
    result = isFloat ? floatBinary(e, op, operands[0], operands[1])
                     : intBinary(e, op, operands[0], operands[1], isUnsigned);
  if (!result) {
    op->emitOpError() << "has no kernel for elements of type " << element << "; convert them to f32 first";
    return {};
  }
  return roundTo(builder, op->getLoc(), result, graph::tensorType(op->getResult(number)).getElementType());
}

Value p3d::memory::combine(OpBuilder &builder, Location loc, uint32_t kind, Type element, Value a, Value b) {
  ScalarExpr e(builder, loc);
  bool isFloat = isa<FloatType>(element), isUnsigned = isUnsignedElement(element);
  switch (static_cast<graph::ReduceKind>(kind)) {
  case graph::ReduceKind::Sum:
    if (isFloat) // reassociation lets the sum run in vector lanes
      return builder.create<arith::AddFOp>(loc, a, b, arith::FastMathFlags::reassoc);
    return element.isInteger(1) ? e.create<arith::OrIOp>(a, b) : e.create<arith::AddIOp>(a, b);
  case graph::ReduceKind::Max:
    if (isFloat)
      return e.create<arith::MaximumFOp>(a, b);
    return isUnsigned ? e.create<arith::MaxUIOp>(a, b) : e.create<arith::MaxSIOp>(a, b);
  case graph::ReduceKind::Min:
    if (isFloat)
      return e.create<arith::MinimumFOp>(a, b);
    return isUnsigned ? e.create<arith::MinUIOp>(a, b) : e.create<arith::MinSIOp>(a, b);
  case graph::ReduceKind::Prod:
    return isFloat ? e.create<arith::MulFOp>(a, b) : e.create<arith::MulIOp>(a, b);
  case graph::ReduceKind::And:
    return e.create<arith::AndIOp>(a, b);
  case graph::ReduceKind::Or:
    return e.create<arith::OrIOp>(a, b);
  }
  llvm_unreachable("a kind outside the enumeration");
}

TypedAttr p3d::memory::neutral(uint32_t kind, Type element) {
  Builder builder(element.getContext());
  Type type = computeType(element);
  auto reduce = static_cast<graph::ReduceKind>(kind);
  if (isa<FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    return builder.getFloatAttr(type, reduce == graph::ReduceKind::Max    ? -infinity
                                      : reduce == graph::ReduceKind::Min  ? infinity
                                      : reduce == graph::ReduceKind::Prod ? 1.0
                                                                          : 0.0);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = isUnsignedElement(element);
  switch (reduce) {
  case graph::ReduceKind::Sum:
  case graph::ReduceKind::Or:
    return builder.getIntegerAttr(type, APInt::getZero(width));
  case graph::ReduceKind::Prod:
    return builder.getIntegerAttr(type, APInt(width, 1));
  case graph::ReduceKind::And:
    return builder.getIntegerAttr(type, APInt::getAllOnes(width));
  case graph::ReduceKind::Max:
    return builder.getIntegerAttr(type, isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width));
  case graph::ReduceKind::Min:
    return builder.getIntegerAttr(type, isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  }
  llvm_unreachable("a kind outside the enumeration");
}
