#include "passes/Import/RecognitionMatchers.h"
#include <cmath>

using namespace mlir;

namespace p3d::import {

Spread spreadOf(Value value) {
  Spread spread{value, llvm::to_vector(llvm::seq<int64_t>(0, graph::tensorType(value).getRank()))};
  while (Operation *op = spread.source.getDefiningOp()) {
    SmallVector<int64_t> map; // operand dimension -> dimension of the current source
    if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
      map.assign(broadcast.getDims().begin(), broadcast.getDims().end());
    } else if (auto reshape = dyn_cast<graph::ReshapeOp>(op)) {
      auto units = unitReshapeDims(graph::tensorType(reshape.getOperand()), reshape.getType());
      if (!units)
        break;
      map = *units;
    } else {
      break;
    }
    Value operand = op->getOperand(0);
    SmallVector<int64_t> dims;
    for (auto [i, dim] : llvm::enumerate(map))
      dims.push_back(graph::tensorType(operand).getDimSize(i) == 1 || dim < 0 ? -1 : spread.dims[dim]);
    spread = {operand, dims};
  }
  return spread;
}

namespace {
Value stripConverts(Value value, bool wideningOnly) {
  while (auto convert = value.getDefiningOp<graph::ConvertOp>()) {
    auto from = dyn_cast<FloatType>(graph::tensorType(convert.getOperand()).getElementType());
    auto to = dyn_cast<FloatType>(convert.getType().getElementType());
    if (!from || !to || (wideningOnly && from.getWidth() >= to.getWidth()))
      break;
    value = convert.getOperand();
  }
  return value;
}
} // namespace

Value withoutWidening(Value value) { return stripConverts(value, true); }
Value withoutConverts(Value value) { return stripConverts(value, false); }

Value rowsOf(Value value) {
  auto type = graph::tensorType(value);
  if (type.getRank() == 0)
    return {};
  Spread spread = spreadOf(value);
  int64_t last = type.getRank() - 1;
  if (graph::tensorType(spread.source).getNumElements() * type.getDimSize(last) != type.getNumElements() ||
      llvm::is_contained(spread.dims, last))
    return {};
  return spread.source;
}

Value vectorOf(Value value) {
  auto type = graph::tensorType(value);
  if (type.getRank() == 0)
    return {};
  Spread spread = spreadOf(value);
  int64_t last = type.getRank() - 1;
  bool onlyLast = llvm::all_of(spread.dims, [&](int64_t dim) { return dim < 0 || dim == last; });
  return onlyLast && graph::tensorType(spread.source).getNumElements() == type.getDimSize(last) ? spread.source : Value();
}

Value withoutUnitDims(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>()) {
    if (!unitReshapeDims(graph::tensorType(reshape.getOperand()), reshape.getType()))
      break;
    value = reshape.getOperand();
  }
  return value;
}

Value matchRowReduction(Value value, graph::ReduceKind kind) {
  auto reduce = withoutUnitDims(value).getDefiningOp<graph::ReduceOp>();
  if (!reduce || reduce.getKind() != kind)
    return {};
  int64_t last = graph::tensorType(reduce.getOperand()).getRank() - 1;
  return reduce.getDims() == ArrayRef<int64_t>{last} ? reduce.getOperand() : Value();
}

Value matchRowMean(Value value) {
  Operation *op = withoutUnitDims(value).getDefiningOp();
  if (!isa_and_nonnull<graph::DivOp, graph::MulOp>(op))
    return {};
  Value sum = op->getOperand(0), count = op->getOperand(1);
  if (isa<graph::MulOp>(op) && uniformValue(sum))
    std::swap(sum, count);
  Value x = matchRowReduction(sum, graph::ReduceKind::Sum);
  std::optional<double> number = uniformValue(count);
  if (!x || !number)
    return {};
  double size = graph::tensorType(x).getShape().back();
  bool isMean = isa<graph::DivOp>(op) ? *number == size : isAbout(count, *number * size, 1);
  return isMean ? x : Value();
}

namespace {
void collectFactors(Value value, Product &product, bool isRoot) {
  Value inner = withoutConverts(value);
  if (std::optional<double> number = uniformValue(inner)) {
    product.number *= *number;
    return;
  }
  Operation *op = inner.getDefiningOp();
  bool mayOpen = isRoot || (value.hasOneUse() && inner.hasOneUse());
  if (mayOpen && isa_and_nonnull<graph::MulOp>(op)) {
    collectFactors(op->getOperand(0), product, false);
    collectFactors(op->getOperand(1), product, false);
  } else if (mayOpen && isa_and_nonnull<graph::DivOp>(op)) {
    collectFactors(op->getOperand(0), product, false);
    if (std::optional<double> number = uniformValue(op->getOperand(1)))
      product.number /= *number;
    else
      product.divisors.push_back(op->getOperand(1));
  } else if (mayOpen && isa_and_nonnull<graph::NegOp>(op)) {
    product.number = -product.number;
    collectFactors(op->getOperand(0), product, false);
  } else {
    product.factors.push_back(withoutWidening(value));
  }
}
} // namespace

Product productOf(Value root) {
  Product product;
  collectFactors(root, product, true);
  return product;
}

bool isAbout(Value typed, double value, double expected) {
  auto type = cast<FloatType>(graph::tensorType(typed).getElementType());
  // Three units in the last place: the constants of these formulas are products of a few rounded numbers.
  double tolerance = 3 * std::ldexp(1.0, -int(APFloat::semanticsPrecision(type.getFloatSemantics())));
  return std::fabs(value - expected) <= std::max(tolerance, 2e-7) * std::fabs(expected);
}

RankedTensorType statisticsType(Value value) {
  auto type = graph::tensorType(value);
  Type element = type.getElementType().isF64() ? type.getElementType() : Float32Type::get(value.getContext());
  return RankedTensorType::get(type.getShape().drop_back(), element);
}

void replaceInReverse(graph::ProgramOp program, llvm::function_ref<Value(Operation *)> recognize) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front()))) {
    if (isa<graph::YieldOp>(op))
      continue;
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    if (Value named = recognize(&op)) {
      op.getResult(0).replaceAllUsesWith(named);
      op.erase();
    }
  }
}

} // namespace p3d::import
