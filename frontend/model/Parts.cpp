#include "frontend/model/Parts.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace p3d;
using namespace p3d::model;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The label of a token that does not count.
constexpr int64_t kIgnored = -100;

int64_t lastDim(Value x) { return typeOf(x).getRank() - 1; }

Value geluErf(TensorBuilder &b, Value x) {
  Value erf = b.unary<chlo::ErfOp>(b.scale(x, M_SQRT1_2));
  return b.mul(b.scale(x, 0.5), b.add(erf, b.splatLike(x, 1)));
}

Value geluTanh(TensorBuilder &b, Value x) {
  Value cubic = b.scale(b.mul(b.mul(x, x), x), 0.044715);
  Value tanh = b.unary<stablehlo::TanhOp>(b.scale(b.add(x, cubic), std::sqrt(2 / M_PI)));
  return b.mul(b.scale(x, 0.5), b.add(tanh, b.splatLike(x, 1)));
}

Value geluLogistic(TensorBuilder &b, Value x) { return b.mul(x, b.unary<stablehlo::LogisticOp>(b.scale(x, 1.702))); }

Value relu(TensorBuilder &b, Value x) { return b.binary<stablehlo::MaxOp>(x, b.splatLike(x, 0)); }

Value silu(TensorBuilder &b, Value x) { return b.mul(x, b.unary<stablehlo::LogisticOp>(x)); }

Value tanh(TensorBuilder &b, Value x) { return b.unary<stablehlo::TanhOp>(x); }

struct Activation {
  StringLiteral name;
  Value (*build)(TensorBuilder &, Value);
};
constexpr Activation kActivations[] = {
    {"gelu", geluErf},
    {"gelu_fast", geluTanh},
    {"gelu_new", geluTanh},
    {"gelu_pytorch_tanh", geluTanh},
    {"quick_gelu", geluLogistic},
    {"relu", relu},
    {"silu", silu},
    {"swish", silu},
    {"tanh", tanh},
};

/// The mean of each row.
Value rowMean(TensorBuilder &b, Value x) {
  Value sum = b.sum(x, {lastDim(x)});
  return b.binary<stablehlo::DivOp>(sum, b.splatLike(sum, typeOf(x).getShape().back()));
}

/// x / sqrt(mean(x^2) + epsilon) over the last dimension, in `element`.
Value normalize(TensorBuilder &b, Value x, double epsilon, Type element) {
  Value variance = rowMean(b, b.mul(x, x));
  Value root = b.unary<stablehlo::RsqrtOp>(b.add(variance, b.splatLike(variance, epsilon)));
  return b.convert(b.mul(x, b.broadcastRows(root, x)), element);
}

/// The largest element of each row.
Value rowMax(TensorBuilder &b, Value x) { return b.reduce<stablehlo::MaxOp>(x, {lastDim(x)}, -kInfinity); }

/// Scores [.., s, t] where position t is not behind position s, else -infinity.
Value maskCausally(TensorBuilder &b, Value scores) {
  auto shape = typeOf(scores).getShape();
  int64_t keys = lastDim(scores), queries = keys - 1;
  Value query = b.iota(shape.take_back(2), 0, b.i32()), key = b.iota(shape.take_back(2), 1, b.i32());
  Value visible = b.broadcast(b.compare(stablehlo::ComparisonDirection::GE, query, key), shape, {queries, keys});
  return b.select(visible, scores, b.splatLike(scores, -kInfinity));
}
} // namespace

ArrayRef<StringLiteral> model::activationNames() {
  static const auto names = llvm::map_to_vector(kActivations, [](const Activation &row) { return row.name; });
  return names;
}

Value model::activation(TensorBuilder &b, StringRef name, Value x) {
  const Activation *row = llvm::find_if(kActivations, [&](const Activation &row) { return row.name == name; });
  assert(row != std::end(kActivations));
  return row->build(b, x);
}

Value model::layerNorm(TensorBuilder &b, Value x, Value scale, Value bias, double epsilon) {
  Value wide = b.convert(x, b.f32());
  Value centered = b.binary<stablehlo::SubtractOp>(wide, b.broadcastRows(rowMean(b, wide), wide));
  Value norm = normalize(b, centered, epsilon, typeOf(x).getElementType());
  return b.add(b.mul(norm, b.broadcastVector(scale, norm)), b.broadcastVector(bias, norm));
}

Value model::rmsNorm(TensorBuilder &b, Value x, Value scale, double epsilon) {
  Value norm = normalize(b, b.convert(x, b.f32()), epsilon, typeOf(x).getElementType());
  return b.mul(norm, b.broadcastVector(scale, norm));
}

Value model::linear(TensorBuilder &b, Value x, Value weight, Value bias) {
  Value product = b.dot(x, weight, {{}, {}, {lastDim(x)}, {1}});
  return bias ? b.add(product, b.broadcastVector(bias, product)) : product;
}

Value model::softmax(TensorBuilder &b, Value x) {
  Value exponentials = b.unary<stablehlo::ExpOp>(b.binary<stablehlo::SubtractOp>(x, b.broadcastRows(rowMax(b, x), x)));
  return b.binary<stablehlo::DivOp>(exponentials, b.broadcastRows(b.sum(exponentials, {lastDim(x)}), x));
}

Value model::causalAttention(TensorBuilder &b, Value q, Value k, Value v) {
  auto shape = typeOf(q).getShape();
  int64_t batch = shape[0], sequence = shape[1], heads = shape[2], width = shape[3], groups = typeOf(k).getDimSize(2);
  bool isGrouped = groups != heads;
  Value scores; // [b, h, s, t], or [b, g, h / g, s, t]: query heads that share a key head lie side by side
  if (isGrouped) {
    q = b.reshape(q, {batch, sequence, groups, heads / groups, width});
    scores = b.transpose(b.dot(q, k, {{0, 2}, {0, 2}, {4}, {3}}), {0, 1, 3, 2, 4});
  } else {
    scores = b.dot(q, k, {{0, 2}, {0, 2}, {3}, {3}});
  }
  scores = maskCausally(b, b.scale(b.convert(scores, b.f32()), 1 / std::sqrt(double(width))));
  Value weights = b.convert(softmax(b, scores), typeOf(v).getElementType());
  Value context = b.dot(weights, v, {{0, 1}, {0, 2}, {lastDim(weights)}, {1}});
  context = b.transpose(context, isGrouped ? Shape{0, 3, 1, 2, 4} : Shape{0, 2, 1, 3});
  return b.reshape(context, {batch, sequence, heads * width});
}

Value model::nextTokenLoss(TensorBuilder &b, Value logits, Value labels) {
  TensorBuilder::Scope scope(b, "loss");
  int64_t batch = typeOf(labels).getDimSize(0), sequence = typeOf(labels).getDimSize(1);
  Value last = b.constant(kIgnored, b.i32(), {batch, 1});
  Value next = last;
  if (sequence > 1)
    next = b.concatenate({b.slice(labels, 1, 1, sequence), last}, 1);
  Value counts = b.compare(stablehlo::ComparisonDirection::NE, next, b.splatLike(next, kIgnored));
  Value target = b.select(counts, next, b.splatLike(next, 0));

  Value largest = rowMax(b, logits);
  Value shifted = b.binary<stablehlo::SubtractOp>(logits, b.broadcastRows(largest, logits));
  Value sum = b.sum(b.unary<stablehlo::ExpOp>(shifted), {2});
  Value logSumExp = b.add(b.unary<stablehlo::LogOp>(sum), largest);
  Value loss = b.binary<stablehlo::SubtractOp>(logSumExp, b.takeElements(logits, target));

  Value total = b.sum(b.select(counts, loss, b.splatLike(loss, 0)), {0, 1});
  return b.binary<stablehlo::DivOp>(total, b.sum(b.convert(counts, b.f32()), {0, 1}));
}
