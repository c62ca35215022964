// The interpreter's named activations, rope and their gradients.
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace p3d::graph;
using namespace p3d::graph::interpreter;

namespace {
constexpr double kPi = 3.14159265358979323846;
constexpr double kTanhCubic = 0.044715;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * logistic(x); }
double siluSlope(double x) { return logistic(x) * (1 + x * (1 - logistic(x))); }

/// The argument of gelu's tanh, and its slope.
double tanhArgument(double x) { return std::sqrt(2 / kPi) * (x + kTanhCubic * x * x * x); }
double tanhArgumentSlope(double x) { return std::sqrt(2 / kPi) * (1 + 3 * kTanhCubic * x * x); }

/// Phi(x), the probability that a normal variable is below x, exactly or in its form by tanh.
double gelu(GeluKind kind, double x) {
  switch (kind) {
  case GeluKind::Tanh:
    return x * 0.5 * (1 + std::tanh(tanhArgument(x)));
  case GeluKind::Erf:
    return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
  }
  llvm_unreachable("a kind outside the enumeration");
}

double geluSlope(GeluKind kind, double x) {
  switch (kind) {
  case GeluKind::Tanh: {
    double t = std::tanh(tanhArgument(x));
    return 0.5 * (1 + t) + x * 0.5 * (1 - t * t) * tanhArgumentSlope(x);
  }
  case GeluKind::Erf:
    return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * kPi);
  }
  llvm_unreachable("a kind outside the enumeration");
}

/// One result whose element i is fn(i).
template <typename Fn> Tensors elementwise(Operation *op, Fn fn) {
  Tensor result = zeros(op->getResult(0));
  for (int64_t i = 0, n = result.size(); i < n; ++i)
    result.floats[i] = fn(i);
  return single(std::move(result));
}

Tensors swigluGrad(SwigluGradOp op, Operands in) {
  Tensors out;
  out.push_back(zeros(op.getDGate()));
  out.push_back(zeros(op.getDUp()));
  for (int64_t i = 0, n = out[0].size(); i < n; ++i) {
    double dy = in[0]->floats[i], gate = in[1]->floats[i], up = in[2]->floats[i];
    out[0].floats[i] = dy * up * siluSlope(gate);
    out[1].floats[i] = dy * silu(gate);
  }
  return out;
}

/// Element i of a row of length d is x[i] * cos[i] plus that of the other half times sin, negative in the first half; transposed the other way round.
Tensors rope(RopeOp op, Operands in) {
  const Tensor &x = *in[0], &cos = *in[1], &sin = *in[2];
  Tensor result = zeros(op.getResult());
  int64_t batch = x.shape[0], length = x.shape[1], heads = x.shape[2], depth = x.shape[3], half = depth / 2;
  for (int64_t row = 0; row < batch * length * heads; ++row) {
    int64_t position = row / heads, tableRow = cos.rank() == 2 ? position % length : position;
    const double *from = x.floats.data() + row * depth;
    const double *c = cos.floats.data() + tableRow * depth, *s = sin.floats.data() + tableRow * depth;
    for (int64_t i = 0; i < depth; ++i) {
      bool first = i < half;
      int64_t other = first ? i + half : i - half;
      double rotated = op.getTransposed() ? from[other] * s[other] : from[other] * s[i];
      bool negative = first != bool(op.getTransposed());
      result.floats[row * depth + i] = from[i] * c[i] + (negative ? -rotated : rotated);
    }
  }
  return single(std::move(result));
}
} // namespace

std::optional<Tensors> interpreter::evaluateNamed(Operation *op, Operands in) {
  auto at = [&](unsigned operand, int64_t i) { return in[operand]->floats[i]; };
  return TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](GeluOp op) { return elementwise(op, [&](int64_t i) { return gelu(op.getKind(), at(0, i)); }); })
      .Case([&](GeluGradOp op) { return elementwise(op, [&](int64_t i) { return at(0, i) * geluSlope(op.getKind(), at(1, i)); }); })
      .Case([&](SiluOp op) { return elementwise(op, [&](int64_t i) { return silu(at(0, i)); }); })
      .Case([&](SiluGradOp op) { return elementwise(op, [&](int64_t i) { return at(0, i) * siluSlope(at(1, i)); }); })
      .Case([&](SwigluOp op) { return elementwise(op, [&](int64_t i) { return silu(at(0, i)) * at(1, i); }); })
      .Case([&](SwigluGradOp op) { return swigluGrad(op, in); })
      .Case([&](RopeOp op) { return rope(op, in); })
      .Default([](Operation *) { return std::nullopt; });
}
