// Element-wise operations: most have a graph operation of the same meaning.
#include "passes/Import/GraphPatterns.h"
#include "passes/Import/Translation.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

template <typename From, typename To> void addUnary(ConverterTable &table) {
  table.add<From>([](From op, Translation &t) {
    Value operand = t.get(op.getOperand());
    t.bind(op.getResult(), t.create<To>(op.getLoc(), operand.getType(), operand));
    return success();
  });
}

template <typename From, typename To> void addBinary(ConverterTable &table) {
  table.add<From>([](From op, Translation &t) -> LogicalResult {
    Value lhs = t.get(op.getLhs()), rhs = t.get(op.getRhs());
    if (lhs.getType() != rhs.getType() || lhs.getType() != op.getResult().getType())
      return op.emitOpError() << "has operands of types " << lhs.getType() << " and " << rhs.getType() << " and a result of type "
                              << op.getResult().getType() << "; expected one type: convert the operands first";
    t.bind(op.getResult(), t.create<To>(op.getLoc(), lhs.getType(), lhs, rhs));
    return success();
  });
}

/// `chlo.broadcast_*`: operands are aligned at their last dimensions.
template <typename From, typename To> void addBroadcastBinary(ConverterTable &table) {
  table.add<From>([](From op, Translation &t) {
    auto type = cast<RankedTensorType>(op.getResult().getType());
    auto align = [&](Value value) {
      int64_t rank = graph::tensorType(value).getRank();
      SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(type.getRank() - rank, type.getRank()));
      return broadcast(t.builder, op.getLoc(), t.get(value), type.getShape(), dims);
    };
    Value lhs = align(op.getLhs()), rhs = align(op.getRhs());
    t.bind(op.getResult(), t.create<To>(op.getLoc(), type, lhs, rhs));
    return success();
  });
}

graph::ComparePredicate predicateOf(stablehlo::ComparisonDirection direction) {
  switch (direction) {
  case stablehlo::ComparisonDirection::EQ:
    return graph::ComparePredicate::Eq;
  case stablehlo::ComparisonDirection::NE:
    return graph::ComparePredicate::Ne;
  case stablehlo::ComparisonDirection::LT:
    return graph::ComparePredicate::Lt;
  case stablehlo::ComparisonDirection::LE:
    return graph::ComparePredicate::Le;
  case stablehlo::ComparisonDirection::GT:
    return graph::ComparePredicate::Gt;
  case stablehlo::ComparisonDirection::GE:
    return graph::ComparePredicate::Ge;
  }
  llvm_unreachable("all directions are handled");
}

LogicalResult convertCompare(stablehlo::CompareOp op, Translation &t) {
  if (op.getCompareType() == stablehlo::ComparisonType::TOTALORDER)
    return op.emitOpError() << "compares floats by their total order; compare with the type FLOAT";
  Value lhs = t.get(op.getLhs()), rhs = t.get(op.getRhs());
  t.bind(op.getResult(), t.create<graph::CompareOp>(op.getLoc(), op.getResult().getType(),
                                                    predicateOf(op.getComparisonDirection()), lhs, rhs));
  return success();
}

LogicalResult convertSelect(stablehlo::SelectOp op, Translation &t) {
  Value predicate = t.get(op.getPred()), onTrue = t.get(op.getOnTrue()), onFalse = t.get(op.getOnFalse());
  Dims shape = graph::tensorType(onTrue).getShape();
  if (graph::tensorType(predicate).getRank() == 0)
    predicate = broadcast(t.builder, op.getLoc(), predicate, shape, {});
  t.bind(op.getResult(), t.create<graph::SelectOp>(op.getLoc(), onTrue.getType(), predicate, onTrue, onFalse));
  return success();
}

LogicalResult convertConvert(stablehlo::ConvertOp op, Translation &t) {
  Value operand = t.get(op.getOperand());
  Type type = op.getResult().getType();
  t.bind(op.getResult(), operand.getType() == type ? operand : t.create<graph::ConvertOp>(op.getLoc(), type, operand));
  return success();
}

LogicalResult convertClamp(stablehlo::ClampOp op, Translation &t) {
  Value operand = t.get(op.getOperand());
  auto shaped = [&](Value bound) { return broadcast(t.builder, op.getLoc(), bound, graph::tensorType(operand).getShape(), {}); };
  Value low = t.get(op.getMin()), high = t.get(op.getMax());
  if (low.getType() != operand.getType())
    low = shaped(low);
  if (high.getType() != operand.getType())
    high = shaped(high);
  Value atLeast = t.create<graph::MaxOp>(op.getLoc(), operand.getType(), operand, low);
  t.bind(op.getResult(), t.create<graph::MinOp>(op.getLoc(), operand.getType(), atLeast, high));
  return success();
}

LogicalResult convertSquare(chlo::SquareOp op, Translation &t) {
  Value operand = t.get(op.getOperand());
  t.bind(op.getResult(), t.create<graph::MulOp>(op.getLoc(), operand.getType(), operand, operand));
  return success();
}

/// Rounding to fewer bits: by way of the type that has just these.
LogicalResult convertReducePrecision(stablehlo::ReducePrecisionOp op, Translation &t) {
  Value operand = t.get(op.getOperand());
  Type element = graph::tensorType(operand).getElementType(), narrow;
  Builder &b = t.builder;
  for (Type candidate : {b.getBF16Type(), b.getF16Type(), b.getF32Type(), b.getF64Type()}) {
    auto &semantics = cast<FloatType>(candidate).getFloatSemantics();
    unsigned mantissa = llvm::APFloat::semanticsPrecision(semantics) - 1;
    unsigned exponent = cast<FloatType>(candidate).getWidth() - mantissa - 1;
    if (mantissa == op.getMantissaBits() && exponent == op.getExponentBits())
      narrow = candidate;
  }
  if (!narrow)
    return op.emitOpError() << "rounds to a float of " << op.getExponentBits() << " exponent and " << op.getMantissaBits()
                            << " mantissa bits; expected bf16, f16, f32 or f64";
  if (narrow != element && cast<FloatType>(narrow).getWidth() < cast<FloatType>(element).getWidth()) {
    auto narrowType = graph::tensorType(operand).clone(narrow);
    Value rounded = t.create<graph::ConvertOp>(op.getLoc(), narrowType, operand);
    operand = t.create<graph::ConvertOp>(op.getLoc(), operand.getType(), rounded);
  }
  t.bind(op.getResult(), operand);
  return success();
}

LogicalResult convertTan(Operation *op, Translation &t) {
  Value operand = t.get(op->getOperand(0));
  Value sine = t.create<graph::SinOp>(op->getLoc(), operand.getType(), operand);
  Value cosine = t.create<graph::CosOp>(op->getLoc(), operand.getType(), operand);
  t.bind(op->getResult(0), t.create<graph::DivOp>(op->getLoc(), operand.getType(), sine, cosine));
  return success();
}

/// Bits of an integer as a float in [1, 2), as generators of random numbers make it: 0x3F800000 with 23 random bits behind. In numbers that is 1 plus
/// these bits times 2^-23, without rounding.
LogicalResult convertBitcast(stablehlo::BitcastConvertOp op, Translation &t) {
  Value operand = t.get(op.getOperand());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (operand.getType() == type)
    return t.bind(op.getResult(), operand), success();
  auto bits = operand.getDefiningOp<graph::OrOp>();
  constexpr double kOne = 0x3F800000;
  constexpr int kShift = 9;
  if (bits && type.getElementType().isF32())
    for (auto [mantissa, exponent] : {std::pair(bits.getLhs(), bits.getRhs()), std::pair(bits.getRhs(), bits.getLhs())}) {
      auto shift = mantissa.getDefiningOp<graph::ShiftRightOp>();
      if (!shift || !isUniform(exponent, kOne) || !isUniform(shift.getRhs(), kShift))
        continue;
      Value number = t.create<graph::ConvertOp>(op.getLoc(), type, mantissa);
      number = t.create<graph::MulOp>(op.getLoc(), type, number, splat(t.builder, op.getLoc(), type, 1.0 / (1 << 23)));
      t.bind(op.getResult(), t.create<graph::AddOp>(op.getLoc(), type, number, splat(t.builder, op.getLoc(), type, 1)));
      return success();
    }
  return op.emitOpError() << "reads the bits of " << operand.getType() << " as " << type
                          << "; only the floats in [1, 2) that random generators make of 32-bit words are taken";
}

template <typename ConstantOpTy> void addConstant(ConverterTable &table) {
  table.add<ConstantOpTy>([](ConstantOpTy op, Translation &t) {
    t.bind(op.getOutput(), t.create<graph::ConstantOp>(op.getLoc(), op.getOutput().getType(), op.getValue()));
    return success();
  });
}

void addIdentities(ConverterTable &table) {
  table.add<stablehlo::OptimizationBarrierOp>([](stablehlo::OptimizationBarrierOp op, Translation &t) {
    for (auto [operand, result] : llvm::zip(op->getOperands(), op->getResults()))
      t.bind(result, t.get(operand));
    return success();
  });
}

} // namespace

void p3d::import::addElementwiseConverters(ConverterTable &table) {
  addUnary<stablehlo::AbsOp, graph::AbsOp>(table);
  addUnary<stablehlo::CbrtOp, graph::CbrtOp>(table);
  addUnary<stablehlo::CeilOp, graph::CeilOp>(table);
  addUnary<stablehlo::CosineOp, graph::CosOp>(table);
  addUnary<stablehlo::ExpOp, graph::ExpOp>(table);
  addUnary<stablehlo::Expm1Op, graph::Expm1Op>(table);
  addUnary<stablehlo::FloorOp, graph::FloorOp>(table);
  addUnary<stablehlo::LogOp, graph::LogOp>(table);
  addUnary<stablehlo::Log1pOp, graph::Log1pOp>(table);
  addUnary<stablehlo::LogisticOp, graph::LogisticOp>(table);
  addUnary<stablehlo::NegOp, graph::NegOp>(table);
  addUnary<stablehlo::NotOp, graph::NotOp>(table);
  addUnary<stablehlo::RoundNearestEvenOp, graph::RoundEvenOp>(table);
  addUnary<stablehlo::RsqrtOp, graph::RsqrtOp>(table);
  addUnary<stablehlo::SignOp, graph::SignOp>(table);
  addUnary<stablehlo::SineOp, graph::SinOp>(table);
  addUnary<stablehlo::SqrtOp, graph::SqrtOp>(table);
  addUnary<stablehlo::TanhOp, graph::TanhOp>(table);
  addUnary<chlo::ErfOp, graph::ErfOp>(table);
  addUnary<chlo::ErfcOp, graph::ErfcOp>(table);

  addBinary<stablehlo::AddOp, graph::AddOp>(table);
  addBinary<stablehlo::AndOp, graph::AndOp>(table);
  addBinary<stablehlo::DivOp, graph::DivOp>(table);
  addBinary<stablehlo::MaxOp, graph::MaxOp>(table);
  addBinary<stablehlo::MinOp, graph::MinOp>(table);
  addBinary<stablehlo::MulOp, graph::MulOp>(table);
  addBinary<stablehlo::OrOp, graph::OrOp>(table);
  addBinary<stablehlo::PowOp, graph::PowOp>(table);
  addBinary<stablehlo::RemOp, graph::RemOp>(table);
  addBinary<stablehlo::ShiftLeftOp, graph::ShiftLeftOp>(table);
  addBinary<stablehlo::ShiftRightLogicalOp, graph::ShiftRightOp>(table);
  addBinary<stablehlo::SubtractOp, graph::SubOp>(table);
  addBinary<stablehlo::XorOp, graph::XorOp>(table);
  addBroadcastBinary<chlo::BroadcastAddOp, graph::AddOp>(table);
  addBroadcastBinary<chlo::BroadcastSubOp, graph::SubOp>(table);
  addBroadcastBinary<chlo::BroadcastMulOp, graph::MulOp>(table);
  addBroadcastBinary<chlo::BroadcastDivOp, graph::DivOp>(table);
  addBroadcastBinary<chlo::BroadcastMaxOp, graph::MaxOp>(table);
  addBroadcastBinary<chlo::BroadcastMinOp, graph::MinOp>(table);
  addBroadcastBinary<chlo::BroadcastPowOp, graph::PowOp>(table);
  addBroadcastBinary<chlo::BroadcastAndOp, graph::AndOp>(table);
  addBroadcastBinary<chlo::BroadcastOrOp, graph::OrOp>(table);

  table.add<stablehlo::IsFiniteOp>([](stablehlo::IsFiniteOp op, Translation &t) {
    t.bind(op.getResult(), t.create<graph::IsFiniteOp>(op.getLoc(), op.getResult().getType(), t.get(op.getOperand())));
    return success();
  });
  table.add<stablehlo::CompareOp>(convertCompare);
  table.add<stablehlo::SelectOp>(convertSelect);
  table.add<stablehlo::ConvertOp>(convertConvert);
  table.add<stablehlo::ClampOp>(convertClamp);
  table.add<stablehlo::ReducePrecisionOp>(convertReducePrecision);
  table.add<stablehlo::TanOp>([](stablehlo::TanOp op, Translation &t) { return convertTan(op, t); });
  table.add<chlo::TanOp>([](chlo::TanOp op, Translation &t) { return convertTan(op, t); });
  table.add<chlo::SquareOp>(convertSquare);
  table.add<stablehlo::BitcastConvertOp>(convertBitcast);
  addConstant<stablehlo::ConstantOp>(table);
  addConstant<chlo::ConstantOp>(table);
  addIdentities(table);
}
