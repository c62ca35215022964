// Reverse rules of reductions, cumulative reductions and einsum.
#include "dialects/Graph/EinsumSpec.h"
#include "passes/Autodiff/Rules.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
SmallVector<int64_t> allBut(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

/// Equal largest (or smallest) elements share the gradient evenly.
Value extremumGradient(ReduceOp op, Value d, Gradients &g) {
  Value x = op.getOperand();
  auto shape = tensorType(x).getShape();
  Value isExtremum = g.compare(ComparePredicate::Eq, x, g.broadcastAlong(op.getResult(), shape, op.getDims()));
  Value count = g.sum(g.convert(isExtremum, tensorType(x).getElementType()), op.getDims());
  Value share = g.broadcastAlong(g.make<DivOp>(d, count), shape, op.getDims());
  return g.select(isExtremum, share, g.splatLike(x, 0));
}

Value cumulativeProduct(Gradients &g, Value x, int64_t dim, bool reverse) {
  return g.create<CumulativeOp>(x.getType(), ReduceKind::Prod, x, dim, reverse);
}

/// `x` moved by one along its last dimension, towards the end or the start; 1 takes the free place.
Value shifted(Gradients &g, Value x, bool towardsEnd) {
  SmallVector<int64_t> low(tensorType(x).getRank(), 0), high(low), interior(low);
  low.back() = towardsEnd ? 1 : -1;
  high.back() = -low.back();
  Value one = g.splat(RankedTensorType::get({}, tensorType(x).getElementType()), 1);
  return g.create<PadOp>(x.getType(), x, one, low, high, interior);
}

/// Each element's gradient is the product of the others: of those before times those after, so that zeros do no harm.
Value productGradient(ReduceOp op, Value d, Gradients &g) {
  Value x = op.getOperand();
  auto shape = tensorType(x).getShape();
  SmallVector<int64_t> order = allBut(shape.size(), op.getDims()), rows;
  int64_t length = 1;
  for (int64_t dim : order)
    rows.push_back(shape[dim]);
  for (int64_t dim : op.getDims())
    length *= shape[dim];
  rows.push_back(length);
  llvm::append_range(order, op.getDims());
  Value moved = g.transpose(x, order), row = g.reshape(moved, rows);
  int64_t last = rows.size() - 1;
  Value before = shifted(g, cumulativeProduct(g, row, last, false), true);
  Value after = shifted(g, cumulativeProduct(g, row, last, true), false);
  Value others = g.reshape(g.make<MulOp>(before, after), tensorType(moved).getShape());
  Value back = g.transpose(others, invertPermutationVector(order));
  return g.make<MulOp>(g.broadcastAlong(d, shape, op.getDims()), back);
}

void reduceRule(ReduceOp op, Value d, Gradients &g) {
  g.add(op.getOperand(), [&]() -> Value {
    switch (op.getKind()) {
    case ReduceKind::Sum:
      return g.broadcastAlong(d, op.getOperand().getType().getShape(), op.getDims());
    case ReduceKind::Max:
    case ReduceKind::Min:
      return extremumGradient(op, d, g);
    case ReduceKind::Prod:
      return productGradient(op, d, g);
    case ReduceKind::And:
    case ReduceKind::Or:
      return g.splatLike(op.getOperand(), 0);
    }
    llvm_unreachable("a kind outside the enumeration");
  });
}

/// Of a running maximum (or minimum) y, element j feeds those y[i] in its reach that it equals; equal ones share evenly. The pairs (i, j) stand
/// in a tensor with j as a further last dimension.
Value runningExtremumGradient(CumulativeOp op, Value d, Gradients &g) {
  Value x = op.getOperand();
  int64_t dim = op.getDim(), rank = tensorType(x).getRank();
  SmallVector<int64_t> pairs(tensorType(x).getShape()), order = allBut(rank, {dim});
  pairs.push_back(pairs[dim]);
  order.push_back(dim);
  auto overI = [&](Value value) { return g.broadcastAlong(value, pairs, {rank}); };
  Value atJ = g.broadcastAlong(g.transpose(x, order), pairs, {dim});
  auto indexType = RankedTensorType::get(pairs, g.builder.getI32Type());
  Value i = g.create<IotaOp>(indexType, dim), j = g.create<IotaOp>(indexType, rank);
  Value inReach = g.compare(op.getReverse() ? ComparePredicate::Ge : ComparePredicate::Le, j, i);
  Value feeds = g.make<AndOp>(inReach, g.compare(ComparePredicate::Eq, overI(op.getResult()), atJ));
  Value count = g.sum(g.convert(feeds, tensorType(x).getElementType()), {rank});
  Value share = overI(g.make<DivOp>(d, count));
  Value collected = g.sum(g.select(feeds, share, g.splatLike(share, 0)), {dim});
  return g.transpose(collected, invertPermutationVector(order));
}

LogicalResult cumulativeRule(CumulativeOp op, Value d, Gradients &g) {
  if (!g.wants(op.getOperand()))
    return success();
  switch (op.getKind()) {
  case ReduceKind::Sum:
    g.add(op.getOperand(), g.create<CumulativeOp>(d.getType(), ReduceKind::Sum, d, op.getDim(), !op.getReverse()));
    return success();
  case ReduceKind::Max:
  case ReduceKind::Min:
    g.add(op.getOperand(), runningExtremumGradient(op, d, g));
    return success();
  case ReduceKind::Prod:
  case ReduceKind::And:
  case ReduceKind::Or:
    return op.emitOpError() << "of kind '" << stringifyReduceKind(op.getKind())
                            << "' has no reverse rule; write a running product of positive numbers as exp of the "
                               "running sum of logarithms";
  }
  llvm_unreachable("a kind outside the enumeration");
}

/// The gradient of the operand of letters `self`: d times the other operand, summed over what `self` lacks, repeated along letters that stand in
/// `self` alone. Both factors have one element type, as matrix products on every target want it.
Value einsumGradient(EinsumOp op, Value d, Value self, const std::string &selfLetters, Value other,
                     const std::string &otherLetters, const std::string &resultLetters, Gradients &g) {
  EinsumSpec spec{resultLetters, otherLetters, ""};
  SmallVector<int64_t> dims, shape;
  for (auto [dim, letter] : llvm::enumerate(selfLetters))
    if (EinsumSpec::has(resultLetters + otherLetters, letter)) {
      spec.result += letter;
      dims.push_back(dim);
      shape.push_back(tensorType(self).getDimSize(dim));
    }
  Value factor = g.convert(d, tensorType(other).getElementType());
  auto type = RankedTensorType::get(shape, tensorType(self).getElementType());
  Value product = g.create<EinsumOp>(type, spec.str(), factor, other);
  return g.broadcast(product, tensorType(self).getShape(), dims);
}

void einsumRule(EinsumOp op, Value d, Gradients &g) {
  EinsumSpec spec = *EinsumSpec::parse(op.getSpec());
  g.add(op.getLhs(), [&] { return einsumGradient(op, d, op.getLhs(), spec.lhs, op.getRhs(), spec.rhs, spec.result, g); });
  g.add(op.getRhs(), [&] { return einsumGradient(op, d, op.getRhs(), spec.rhs, op.getLhs(), spec.lhs, spec.result, g); });
}
} // namespace

void p3d::addCombiningRules(RuleTable &table) {
  table.on<ReduceOp>(reduceRule);
  table.on<CumulativeOp>(cumulativeRule);
  table.on<EinsumOp>(einsumRule);
}
