// The interpreter's operations on rows, the last dimension: norms, softmax, cross entropy and their gradients.
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace p3d::graph;
using namespace p3d::graph::interpreter;

namespace {
/// A tensor per result of `op`, all zero.
Tensors resultsOf(Operation *op) {
  Tensors results;
  for (Value value : op->getResults())
    results.push_back(zeros(value));
  return results;
}

/// A row of a tensor.
double *rowOf(Tensor &tensor, int64_t row, int64_t length) { return tensor.floats.data() + row * length; }
const double *rowOf(const Tensor &tensor, int64_t row, int64_t length) { return tensor.floats.data() + row * length; }

/// The sum of fn(i) for i below n.
template <typename Fn> double sum(int64_t n, Fn fn) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i)
    total += fn(i);
  return total;
}

double largest(const double *row, int64_t n) {
  double result = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i)
    result = std::isnan(result) || result > row[i] ? result : row[i];
  return result;
}

Tensors layerNorm(LayerNormOp op, Operands in) {
  Tensors out = resultsOf(op);
  Rows rows(*in[0]);
  double epsilon = op.getEpsilon().convertToDouble(), n = rows.length;
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *x = rowOf(*in[0], row, rows.length);
    double mean = sum(rows.length, [&](int64_t i) { return x[i]; }) / n;
    double variance = sum(rows.length, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / n;
    double rstd = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < rows.length; ++i)
      rowOf(out[0], row, rows.length)[i] = (x[i] - mean) * rstd * in[1]->floats[i] + in[2]->floats[i];
    out[1].floats[row] = mean;
    out[2].floats[row] = rstd;
  }
  return out;
}

/// With xhat = (x - mean) * rstd and g = dy * scale: dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), dscale = sum(dy * xhat), dbias = sum(dy).
Tensors layerNormGrad(LayerNormGradOp op, Operands in) {
  Tensors out = resultsOf(op);
  Rows rows(*in[1]);
  const std::vector<double> &scale = in[2]->floats;
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *dy = rowOf(*in[0], row, rows.length), *x = rowOf(*in[1], row, rows.length);
    double mean = in[3]->floats[row], rstd = in[4]->floats[row], n = rows.length;
    auto xhat = [&](int64_t i) { return (x[i] - mean) * rstd; };
    double meanG = sum(rows.length, [&](int64_t i) { return dy[i] * scale[i]; }) / n;
    double meanGx = sum(rows.length, [&](int64_t i) { return dy[i] * scale[i] * xhat(i); }) / n;
    for (int64_t i = 0; i < rows.length; ++i) {
      rowOf(out[0], row, rows.length)[i] = rstd * (dy[i] * scale[i] - meanG - xhat(i) * meanGx);
      out[1].floats[i] += dy[i] * xhat(i);
      out[2].floats[i] += dy[i];
    }
  }
  return out;
}

Tensors rmsNorm(RmsNormOp op, Operands in) {
  Tensors out = resultsOf(op);
  Rows rows(*in[0]);
  double epsilon = op.getEpsilon().convertToDouble();
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *x = rowOf(*in[0], row, rows.length);
    double meanSquare = sum(rows.length, [&](int64_t i) { return x[i] * x[i]; }) / double(rows.length);
    double rstd = 1 / std::sqrt(meanSquare + epsilon);
    for (int64_t i = 0; i < rows.length; ++i)
      rowOf(out[0], row, rows.length)[i] = x[i] * rstd * in[1]->floats[i];
    out[1].floats[row] = rstd;
  }
  return out;
}

/// With xhat = x * rstd and g = dy * scale: dx = rstd * (g - xhat * mean(g * xhat)), dscale = sum(dy * xhat).
Tensors rmsNormGrad(RmsNormGradOp op, Operands in) {
  Tensors out = resultsOf(op);
  Rows rows(*in[1]);
  const std::vector<double> &scale = in[2]->floats;
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *dy = rowOf(*in[0], row, rows.length), *x = rowOf(*in[1], row, rows.length);
    double rstd = in[3]->floats[row];
    double meanGx = sum(rows.length, [&](int64_t i) { return dy[i] * scale[i] * x[i] * rstd; }) / double(rows.length);
    for (int64_t i = 0; i < rows.length; ++i) {
      rowOf(out[0], row, rows.length)[i] = rstd * (dy[i] * scale[i] - x[i] * rstd * meanGx);
      out[1].floats[i] += dy[i] * x[i] * rstd;
    }
  }
  return out;
}

Tensors softmax(SoftmaxOp op, Operands in) {
  Tensors out = resultsOf(op);
  Rows rows(*in[0]);
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *x = rowOf(*in[0], row, rows.length);
    double max = largest(x, rows.length), total = sum(rows.length, [&](int64_t i) { return std::exp(x[i] - max); });
    for (int64_t i = 0; i < rows.length; ++i)
      rowOf(out[0], row, rows.length)[i] = std::exp(x[i] - max) / total;
  }
  return out;
}

Tensors softmaxGrad(SoftmaxGradOp op, Operands in) {
  Tensors out = resultsOf(op);
  Rows rows(*in[0]);
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *y = rowOf(*in[0], row, rows.length), *dy = rowOf(*in[1], row, rows.length);
    double total = sum(rows.length, [&](int64_t i) { return y[i] * dy[i]; });
    for (int64_t i = 0; i < rows.length; ++i)
      rowOf(out[0], row, rows.length)[i] = y[i] * (dy[i] - total);
  }
  return out;
}

/// The columns of logits that this shard has, without padding.
struct Columns {
  int64_t start = 0, count;
  Columns(const Tensor &logits, const ShardPosition *shard) : count(logits.shape.back()) {
    if (!shard || shard->dim + 1 != logits.rank())
      return;
    start = shard->start;
    count = std::clamp<int64_t>(shard->full - start, 0, count);
  }
  /// The logit at `target`, 0 if the row does not have it.
  double logitAt(int64_t target, const double *row) const { return target >= start && target < start + count ? row[target - start] : 0; }
};

Tensors crossEntropyMax(CrossEntropyMaxOp op, Operands in, const ShardPosition *shard) {
  Tensors out = resultsOf(op);
  Rows rows(*in[0]);
  for (int64_t row = 0; row < rows.count; ++row)
    out[0].floats[row] = largest(rowOf(*in[0], row, rows.length), Columns(*in[0], shard).count);
  return out;
}

Tensors crossEntropySum(CrossEntropySumOp op, Operands in, const ShardPosition *shard) {
  Tensors out = resultsOf(op);
  Rows rows(*in[0]);
  Columns columns(*in[0], shard);
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *x = rowOf(*in[0], row, rows.length);
    out[0].floats[row] = sum(columns.count, [&](int64_t i) { return std::exp(x[i] - in[2]->floats[row]); });
    out[1].floats[row] = columns.logitAt(in[1]->ints[row], x);
  }
  return out;
}

Tensors softmaxCrossEntropy(SoftmaxCrossEntropyOp op, Operands in) {
  Tensors out = resultsOf(op);
  Rows rows(*in[0]);
  Columns columns(*in[0], nullptr);
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *x = rowOf(*in[0], row, rows.length);
    double max = largest(x, rows.length), total = sum(rows.length, [&](int64_t i) { return std::exp(x[i] - max); });
    out[0].floats[row] = std::log(total) + max - columns.logitAt(in[1]->ints[row], x);
    out[1].floats[row] = max;
    out[2].floats[row] = total;
  }
  return out;
}

Tensors softmaxCrossEntropyGrad(SoftmaxCrossEntropyGradOp op, Operands in, const ShardPosition *shard) {
  Tensors out = resultsOf(op);
  Rows rows(*in[1]);
  Columns columns(*in[1], shard);
  for (int64_t row = 0; row < rows.count; ++row) {
    const double *x = rowOf(*in[1], row, rows.length);
    double dLoss = in[0]->floats[row], max = in[3]->floats[row], total = in[4]->floats[row];
    for (int64_t i = 0; i < columns.count; ++i) {
      double onehot = in[2]->ints[row] == columns.start + i;
      rowOf(out[0], row, rows.length)[i] = dLoss * (std::exp(x[i] - max) / total - onehot);
    }
  }
  return out;
}
} // namespace

std::optional<Tensors> interpreter::evaluateRows(Operation *op, Operands in, const ShardPosition *shard) {
  return TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](LayerNormOp op) { return layerNorm(op, in); })
      .Case([&](LayerNormGradOp op) { return layerNormGrad(op, in); })
      .Case([&](RmsNormOp op) { return rmsNorm(op, in); })
      .Case([&](RmsNormGradOp op) { return rmsNormGrad(op, in); })
      .Case([&](SoftmaxOp op) { return softmax(op, in); })
      .Case([&](SoftmaxGradOp op) { return softmaxGrad(op, in); })
      .Case([&](CrossEntropyMaxOp op) { return crossEntropyMax(op, in, shard); })
      .Case([&](CrossEntropySumOp op) { return crossEntropySum(op, in, shard); })
      .Case([&](SoftmaxCrossEntropyOp op) { return softmaxCrossEntropy(op, in); })
      .Case([&](SoftmaxCrossEntropyGradOp op) { return softmaxCrossEntropyGrad(op, in, shard); })
      .Default([](Operation *) { return std::nullopt; });
}
