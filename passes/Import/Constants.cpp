// Evaluation of single integers: StableHLO's integer operations on tensors of one element.
#include "passes/Import/Constants.h"
#include "dialects/StableHLO/StableHLO.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using llvm::APInt;

namespace p3d {

std::optional<APInt> integerOf(Attribute attribute) {
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(attribute);
  if (!elements || elements.empty() || !(elements.isSplat() || elements.getNumElements() == 1))
    return std::nullopt;
  return *elements.value_begin<APInt>();
}

namespace {

/// The operands as integers, and whether their type counts from zero.
struct Integers {
  SmallVector<APInt, 3> values;
  bool isUnsigned;
};

std::optional<APInt> foldBinary(Operation *op, const APInt &a, const APInt &b, bool isUnsigned) {
  using Result = std::optional<APInt>;
  bool byZero = b.isZero();
  return TypeSwitch<Operation *, Result>(op)
      .Case<stablehlo::AddOp>([&](auto) -> Result { return a + b; })
      .Case<stablehlo::SubtractOp>([&](auto) -> Result { return a - b; })
      .Case<stablehlo::MulOp>([&](auto) -> Result { return a * b; })
      .Case<stablehlo::DivOp>([&](auto) -> Result {
        return byZero ? Result() : isUnsigned ? a.udiv(b) : a.sdiv(b);
      })
      .Case<stablehlo::RemOp>([&](auto) -> Result {
        return byZero ? Result() : isUnsigned ? a.urem(b) : a.srem(b);
      })
      .Case<stablehlo::MaxOp>([&](auto) -> Result {
        return (isUnsigned ? a.ugt(b) : a.sgt(b)) ? a : b;
      })
      .Case<stablehlo::MinOp>([&](auto) -> Result {
        return (isUnsigned ? a.ult(b) : a.slt(b)) ? a : b;
      })
      .Case<stablehlo::AndOp>([&](auto) -> Result { return a & b; })
      .Case<stablehlo::OrOp>([&](auto) -> Result { return a | b; })
      .Case<stablehlo::XorOp>([&](auto) -> Result { return a ^ b; })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

bool compare(stablehlo::ComparisonDirection direction, const APInt &a, const APInt &b, bool isUnsigned) {
  bool less = isUnsigned ? a.ult(b) : a.slt(b);
  switch (direction) {
  case stablehlo::ComparisonDirection::EQ:
    return a == b;
  case stablehlo::ComparisonDirection::NE:
    return a != b;
  case stablehlo::ComparisonDirection::LT:
    return less;
  case stablehlo::ComparisonDirection::LE:
    return less || a == b;
  case stablehlo::ComparisonDirection::GT:
    return !less && a != b;
  case stablehlo::ComparisonDirection::GE:
    return !less;
  }
  llvm_unreachable("all directions are handled");
}

/// Whether integers of `type` count from zero: unsigned ones and truth values.
bool countsFromZero(Type type) {
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  return element.isUnsigned() || element.getWidth() == 1;
}

std::optional<APInt> foldToInteger(Operation *op, ArrayRef<APInt> v, bool isUnsigned) {
  auto result = cast<IntegerType>(getElementTypeOrSelf(op->getResult(0).getType()));
  if (auto compareOp = dyn_cast<stablehlo::CompareOp>(op))
    return APInt(1, compare(compareOp.getComparisonDirection(), v[0], v[1], isUnsigned));
  if (isa<stablehlo::SelectOp>(op))
    return v[0].isZero() ? v[2] : v[1];
  if (isa<stablehlo::ConvertOp>(op)) {
    if (result.getWidth() == 1)
      return APInt(1, !v[0].isZero());
    return isUnsigned ? v[0].zextOrTrunc(result.getWidth()) : v[0].sextOrTrunc(result.getWidth());
  }
  if (isa<stablehlo::NegOp>(op))
    return -v[0];
  if (isa<stablehlo::NotOp>(op))
    return ~v[0];
  if (isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op))
    return v[0];
  if (v.size() == 2)
    return foldBinary(op, v[0], v[1], isUnsigned);
  return std::nullopt;
}

bool isSingleInteger(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 1 && isa<IntegerType>(tensor.getElementType());
}

} // namespace

ElementsAttr foldInteger(Operation *op, ArrayRef<Attribute> operands) {
  if (op->getNumResults() != 1 || op->getNumRegions() || operands.empty() || operands.size() > 3 ||
      !isSingleInteger(op->getResult(0).getType()))
    return {};
  SmallVector<APInt, 3> values;
  for (auto [attribute, operand] : llvm::zip(operands, op->getOperands())) {
    std::optional<APInt> value = integerOf(attribute);
    if (!value || !isSingleInteger(operand.getType()))
      return {};
    values.push_back(*value);
  }
  std::optional<APInt> folded = foldToInteger(op, values, countsFromZero(op->getOperand(0).getType()));
  if (!folded)
    return {};
  return DenseElementsAttr::get(cast<ShapedType>(op->getResult(0).getType()), *folded);
}

std::optional<APInt> evaluateInteger(Value value) {
  Attribute attribute;
  if (matchPattern(value, m_Constant(&attribute)))
    return integerOf(attribute);
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || op->getNumOperands() > 3 || !isSingleInteger(value.getType()))
    return std::nullopt;
  SmallVector<Attribute, 3> operands;
  for (Value operand : op->getOperands()) {
    std::optional<APInt> known = isSingleInteger(operand.getType()) ? evaluateInteger(operand) : std::nullopt;
    if (!known)
      return std::nullopt;
    operands.push_back(DenseElementsAttr::get(cast<ShapedType>(operand.getType()), *known));
  }
  return integerOf(foldInteger(op, operands));
}

} // namespace p3d
