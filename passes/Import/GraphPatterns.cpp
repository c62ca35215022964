#include "passes/Import/GraphPatterns.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace p3d::import {

std::optional<double> uniformValue(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<graph::BroadcastOp, graph::ReshapeOp, graph::TransposeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    DenseElementsAttr elements;
    if (!matchPattern(op, m_Constant(&elements)) || !elements.isSplat())
      return std::nullopt;
    if (isa<FloatType>(elements.getElementType()))
      return elements.getSplatValue<APFloat>().convertToDouble();
    APInt integer = elements.getSplatValue<APInt>();
    auto type = cast<IntegerType>(elements.getElementType());
    return type.isUnsigned() || type.getWidth() == 1 ? integer.roundToDouble(false) : integer.roundToDouble(true);
  }
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> unitReshapeDims(RankedTensorType from, RankedTensorType to) {
  SmallVector<int64_t> dims;
  int64_t j = 0;
  for (int64_t size : from.getShape()) {
    while (j < to.getRank() && to.getDimSize(j) == 1 && size != 1)
      ++j;
    if (j < to.getRank() && to.getDimSize(j) == size)
      dims.push_back(j++);
    else if (size == 1)
      dims.push_back(-1);
    else
      return std::nullopt;
  }
  for (; j < to.getRank(); ++j)
    if (to.getDimSize(j) != 1)
      return std::nullopt;
  return dims;
}

namespace {

/// The operand of `op` that its result equals when the other one is neutral or the operand is known not to be negative.
Value passedThrough(Operation *op) {
  if (isa<graph::AddOp>(op))
    return isUniform(op->getOperand(1), 0)   ? op->getOperand(0)
           : isUniform(op->getOperand(0), 0) ? op->getOperand(1)
                                             : Value();
  if (isa<graph::MulOp>(op))
    return isUniform(op->getOperand(1), 1)   ? op->getOperand(0)
           : isUniform(op->getOperand(0), 1) ? op->getOperand(1)
                                             : Value();
  if (isa<graph::SubOp>(op))
    return isUniform(op->getOperand(1), 0) ? op->getOperand(0) : Value();
  if (isa<graph::ConvertOp>(op))
    return isa<IntegerType>(graph::tensorType(op->getOperand(0)).getElementType()) ? op->getOperand(0) : Value();
  auto select = dyn_cast<graph::SelectOp>(op);
  auto compare = select ? select.getPredicate().getDefiningOp<graph::CompareOp>() : graph::CompareOp();
  if (compare && compare.getPredicate() == graph::ComparePredicate::Lt && compare.getLhs() == select.getOnFalse() &&
      isUniform(compare.getRhs(), 0))
    return select.getOnFalse();
  return {};
}

} // namespace

std::optional<int64_t> iotaDim(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<IntegerType>(graph::tensorType(value).getElementType()))
    return std::nullopt;
  if (auto iota = dyn_cast<graph::IotaOp>(op))
    return iota.getDim();
  if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
    std::optional<int64_t> dim = iotaDim(broadcast.getOperand());
    if (!dim || graph::tensorType(broadcast.getOperand()).getDimSize(*dim) != graph::tensorType(value).getDimSize(broadcast.getDims()[*dim]))
      return std::nullopt;
    return broadcast.getDims()[*dim];
  }
  if (auto reshape = dyn_cast<graph::ReshapeOp>(op)) {
    std::optional<int64_t> dim = iotaDim(reshape.getOperand());
    auto dims = unitReshapeDims(graph::tensorType(reshape.getOperand()), graph::tensorType(value));
    return dim && dims && (*dims)[*dim] >= 0 ? std::optional((*dims)[*dim]) : std::nullopt;
  }
  Value same = passedThrough(op);
  return same ? iotaDim(same) : std::nullopt;
}

} // namespace p3d::import
