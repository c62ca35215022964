// The interpreter's attention and its gradient, score by score.
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace p3d::graph;
using namespace p3d::graph::interpreter;

namespace {
/// The scores of one attention: of query i, head h and batch b with key j.
class Scores {
public:
  template <typename OpTy> Scores(OpTy op, const Tensor &query, const Tensor &key, const Tensor *mask)
      : query(query), key(key), mask(mask), batch(query.shape[0]), queries(query.shape[1]), heads(query.shape[2]),
        depth(query.shape[3]), keys(key.shape[1]), keyHeads(key.shape[2]), scale(op.getScale().convertToDouble()),
        maskedValue(op.getMaskedValue().convertToDouble()), causal(op.getCausal()) {}

  /// Where the row of a query or result, and of a key or value, starts.
  int64_t queryRow(int64_t b, int64_t i, int64_t h) const { return ((b * queries + i) * heads + h) * depth; }
  int64_t keyRow(int64_t b, int64_t j, int64_t h) const {
    return ((b * keys + j) * keyHeads + h / (heads / keyHeads)) * depth;
  }
  int64_t statistic(int64_t b, int64_t i, int64_t h) const { return (b * heads + h) * queries + i; }

  bool replaced(int64_t i, int64_t j) const { return causal && j > i + keys - queries; }

  double operator()(int64_t b, int64_t i, int64_t h, int64_t j) const {
    if (replaced(i, j))
      return maskedValue;
    double product = 0;
    for (int64_t d = 0; d < depth; ++d)
      product += query.floats[queryRow(b, i, h) + d] * key.floats[keyRow(b, j, h) + d];
    return scale * product + (mask ? mask->floats[maskPosition(b, i, h, j)] : 0);
  }

  /// Calls fn(b, i, h) for each query.
  template <typename Fn> void forEachQuery(Fn fn) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t h = 0; h < heads; ++h)
          fn(b, i, h);
  }

private:
  int64_t maskPosition(int64_t b, int64_t i, int64_t h, int64_t j) const {
    int64_t index[] = {b, h, i, j}, position = 0;
    for (auto [dim, stride] : llvm::enumerate(mask->strides()))
      position += mask->shape[dim] == 1 ? 0 : index[dim] * stride;
    return position;
  }

  const Tensor &query, &key, *mask;

public:
  const int64_t batch, queries, heads, depth, keys, keyHeads;
  const double scale, maskedValue;
  const bool causal;
};

/// The log of the sum of exponentials of `scores`.
double logSumExp(ArrayRef<double> scores) {
  double max = -std::numeric_limits<double>::infinity(), total = 0;
  for (double score : scores)
    max = std::isnan(max) || max > score ? max : score;
  for (double score : scores)
    total += std::exp(score - max);
  return max + std::log(total);
}

Tensors attention(AttentionOp op, Operands in) {
  Scores scores(op, *in[0], *in[1], op.getMask() ? in[3] : nullptr);
  Tensors out;
  out.push_back(zeros(op.getResult()));
  out.push_back(zeros(op.getLse()));
  std::vector<double> row(scores.keys);
  scores.forEachQuery([&](int64_t b, int64_t i, int64_t h) {
    for (int64_t j = 0; j < scores.keys; ++j)
      row[j] = scores(b, i, h, j);
    double lse = out[1].floats[scores.statistic(b, i, h)] = logSumExp(row);
    for (int64_t j = 0; j < scores.keys; ++j)
      for (int64_t d = 0; d < scores.depth; ++d)
        out[0].floats[scores.queryRow(b, i, h) + d] +=
            std::exp(row[j] - lse) * in[2]->floats[scores.keyRow(b, j, h) + d];
  });
  return out;
}

/// With p = exp(score - lse): dv = sum p dy, dscore = p * (dy . v - dy . y), dq = scale * sum dscore k, dk = scale * sum dscore q.
Tensors attentionGrad(AttentionGradOp op, Operands in) {
  const std::vector<double> &dy = in[0]->floats, &q = in[1]->floats, &k = in[2]->floats, &v = in[3]->floats,
                            &y = in[4]->floats, &lse = in[5]->floats;
  Scores scores(op, *in[1], *in[2], op.getMask() ? in[6] : nullptr);
  Tensors out;
  for (Value value : op->getResults())
    out.push_back(zeros(value));
  scores.forEachQuery([&](int64_t b, int64_t i, int64_t h) {
    int64_t queryRow = scores.queryRow(b, i, h);
    double dyDotY = 0;
    for (int64_t d = queryRow; d < queryRow + scores.depth; ++d)
      dyDotY += dy[d] * y[d];
    for (int64_t j = 0; j < scores.keys; ++j) {
      int64_t keyRow = scores.keyRow(b, j, h);
      double p = std::exp(scores(b, i, h, j) - lse[scores.statistic(b, i, h)]), dyDotV = 0;
      for (int64_t d = 0; d < scores.depth; ++d) {
        dyDotV += dy[queryRow + d] * v[keyRow + d];
        out[2].floats[keyRow + d] += p * dy[queryRow + d];
      }
      // A replaced score is a constant.
      double dScore = scores.replaced(i, j) ? 0 : p * (dyDotV - dyDotY) * scores.scale;
      for (int64_t d = 0; d < scores.depth; ++d) {
        out[0].floats[queryRow + d] += dScore * k[keyRow + d];
        out[1].floats[keyRow + d] += dScore * q[queryRow + d];
      }
    }
  });
  return out;
}
} // namespace

std::optional<Tensors> interpreter::evaluateAttention(Operation *op, Operands in) {
  return TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](AttentionOp op) { return attention(op, in); })
      .Case([&](AttentionGradOp op) { return attentionGrad(op, in); })
      .Default([](Operation *) { return std::nullopt; });
}
