#include "OpCases.h"
#include <cmath>

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;

namespace {
Item *layerNorm(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  ArrayRef<int64_t> shape = x->shape(), width = shape.take_back();
  Item *scale = b.parameter(width, x->element()), *bias = b.parameter(width, x->element());
  Type rows = b.type(shape.drop_back(), x->element());
  return b.create<graph::LayerNormOp>(TypeRange({x->type(), rows, rows}), {}, 1, x->value, scale->value, bias->value, b.builder.getF64FloatAttr(0.1));
}

Item *rmsNorm(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  ArrayRef<int64_t> shape = x->shape(), width = shape.take_back();
  Item *scale = b.parameter(width, x->element());
  Type rows = b.type(shape.drop_back(), x->element());
  return b.create<graph::RmsNormOp>(TypeRange({x->type(), rows}), {}, 1, x->value, scale->value, b.builder.getF64FloatAttr(0.1));
}

Item *softmax(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  return b.make<graph::SoftmaxOp>(x->type(), x->value);
}

Item *crossEntropy(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  ArrayRef<int64_t> shape = x->shape();
  Item *targets = b.ids(shape.drop_back(), ArrayRef<bool>(x->batch).drop_back(), shape.back());
  if (!targets)
    return nullptr;
  Type rows = b.type(shape.drop_back(), b.statisticType(x));
  return b.create<graph::SoftmaxCrossEntropyOp>(TypeRange({rows, rows, rows}), {}, 1, x->value, targets->value);
}

/// A value of rank 4 with the dimensions batch, sequence, heads, depth; made by a product if there is none.
Item *heads(ProgramBuilder &b, Item *x, int64_t count, int64_t depth) {
  // "bsd,dhe->bshe"
  Item *w = b.parameter({x->shape()[2], count, depth}, x->element(), -1, 1);
  Item *made = b.make<graph::EinsumOp>(b.type({x->shape()[0], x->shape()[1], count, depth}, x->element()), b.builder.getStringAttr("bsd,dhe->bshe"), x->value, w->value);
  return b.bounded(made, 2);
}

Item *sequence(ProgramBuilder &b) {
  auto fits = [&](const Item &item) { return item.isFloat() && item.rank() == 3 && (!b.rules.isCut || (item.batch[0] && !item.batch[1] && !item.batch[2])); };
  if (Item *found = b.pick(fits))
    return found;
  return b.input({b.rules.size, b.size(), b.size()}, b.f32(), -1.5, 1.5, true);
}

Item *attention(ProgramBuilder &b) {
  Item *x = sequence(b);
  int64_t keyHeads = b.random.pick({1, 2, 3, 4}), group = b.random.pick({1, 1, 2, 3}), depth = b.random.pick({1, 2, 3, 4});
  Item *q = heads(b, x, keyHeads * group, depth), *k = heads(b, x, keyHeads, depth), *v = heads(b, x, keyHeads, depth);
  if (!q || !k || !v)
    return nullptr;
  int64_t n = x->shape()[0], length = x->shape()[1];
  Value mask;
  if (b.random.chance(0.4)) {
    SmallVector<int64_t> shape{n, keyHeads * group, length, length};
    for (int64_t &size : shape)
      if (b.random.chance(0.5))
        size = 1;
    bool startsWithBatch = b.rules.isCut && shape[0] > 1;
    Item *numbers = b.input(shape, b.f32(), -1.5, 1.5, startsWithBatch);
    mask = numbers->value;
  }
  bool causal = b.random.chance(0.5);
  double maskedValue = b.random.chance(0.5) ? -INFINITY : -1e9;
  Type lse = b.type({n, keyHeads * group, length}, b.statisticType(q));
  return b.create<graph::AttentionOp>(TypeRange({q->type(), lse}), {}, 1, q->value, k->value, v->value, mask, b.builder.getF64FloatAttr(1 / std::sqrt(double(depth))),
                                      causal ? b.builder.getUnitAttr() : UnitAttr(), b.builder.getF64FloatAttr(maskedValue));
}

/// Tables whose halves are alike, of positions or of an input of each element of the batch.
Item *rope(ProgramBuilder &b) {
  Item *x = sequence(b), *q = heads(b, x, b.random.pick({1, 2, 3, 4}), b.random.pick({2, 4}));
  if (!q)
    return nullptr;
  int64_t half = q->shape()[3] / 2;
  SmallVector<int64_t> shape{q->shape()[1], half};
  bool hasBatch = b.random.chance(0.3);
  if (hasBatch)
    shape.insert(shape.begin(), q->shape()[0]);
  Item *angles = hasBatch ? b.input(shape, x->element(), -3, 3, b.rules.isCut || q->batch[0]) : b.denseConstant(shape, x->element(), -3, 3);
  shape.back() *= 2;
  Value halves[] = {angles->value, angles->value};
  Item *table = b.make<graph::ConcatOp>(b.type(shape, x->element()), ValueRange(halves), b.builder.getI64IntegerAttr(shape.size() - 1));
  Item *cos = b.unary("graph.cos", table), *sin = b.unary("graph.sin", table);
  return cos && sin ? b.make<graph::RopeOp>(q->type(), q->value, cos->value, sin->value, UnitAttr()) : nullptr;
}
} // namespace

void p3d::fuzz::addNamedCases(std::vector<OpCase> &cases) {
  cases.push_back({"layer_norm", layerNorm, 3});
  cases.push_back({"rms_norm", rmsNorm, 3});
  cases.push_back({"softmax", softmax, 3});
  cases.push_back({"softmax_cross_entropy", crossEntropy, 3});
  cases.push_back({"attention", attention, 3});
  cases.push_back({"rope", rope, 2});
}
