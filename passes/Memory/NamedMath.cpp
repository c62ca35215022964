// gelu by tanh is computed as x * logistic(2u), which is the same function and needs one exponential; u = sqrt(2/pi) (x + 0.044715 x^3).
#include "passes/Memory/NamedMath.h"
#include "dialects/Graph/GraphOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

Value p3d::memory::logistic(ScalarExpr &e, Value x) {
  Value one = e.constant(x.getType(), 1);
  return e.div(one, e.add(one, e.create<math::ExpOp>(e.create<arith::NegFOp>(x))));
}

namespace {
constexpr double kTanhCubic = 0.044715;
constexpr double kTanhScale = 0.79788456080286535588; // sqrt(2 / pi)
constexpr double kNormalDensity = 0.39894228040143267794; // 1 / sqrt(2 pi)

/// Phi(x), the probability that a normal variable is below x.
Value normalBelow(ScalarExpr &e, graph::GeluKind kind, Value x) {
  Value one = e.constant(x.getType(), 1);
  switch (kind) {
  case graph::GeluKind::Tanh:
    return logistic(e, e.mul(e.mul(x, 2 * kTanhScale), e.add(one, e.mul(e.mul(x, x), kTanhCubic))));
  case graph::GeluKind::Erf:
    return e.mul(e.add(one, e.create<math::ErfOp>(e.mul(x, 1 / llvm::numbers::sqrt2))), 0.5);
  }
  llvm_unreachable("a kind outside the enumeration");
}

Value geluSlope(ScalarExpr &e, graph::GeluKind kind, Value x) {
  Value below = normalBelow(e, kind, x), one = e.constant(x.getType(), 1), square = e.mul(x, x);
  switch (kind) {
  case graph::GeluKind::Tanh: {
    Value slope = e.mul(e.add(one, e.mul(square, 3 * kTanhCubic)), 2 * kTanhScale);
    return e.add(below, e.mul(e.mul(x, slope), e.mul(below, e.sub(one, below))));
  }
  case graph::GeluKind::Erf:
    return e.add(below, e.mul(e.mul(x, e.create<math::ExpOp>(e.mul(square, -0.5))), kNormalDensity));
  }
  llvm_unreachable("a kind outside the enumeration");
}

Value silu(ScalarExpr &e, Value x) { return e.mul(x, logistic(e, x)); }

Value siluSlope(ScalarExpr &e, Value x) {
  Value s = logistic(e, x), one = e.constant(x.getType(), 1);
  return e.mul(s, e.add(one, e.mul(x, e.sub(one, s))));
}
} // namespace

Value p3d::memory::namedOp(ScalarExpr &e, Operation *op, unsigned number, ValueRange in) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](graph::GeluOp op) { return e.mul(in[0], normalBelow(e, op.getKind(), in[0])); })
      .Case([&](graph::GeluGradOp op) { return e.mul(in[0], geluSlope(e, op.getKind(), in[1])); })
      .Case([&](graph::SiluOp) { return silu(e, in[0]); })
      .Case([&](graph::SiluGradOp) { return e.mul(in[0], siluSlope(e, in[1])); })
      .Case([&](graph::SwigluOp) { return e.mul(silu(e, in[0]), in[1]); })
      .Case([&](graph::SwigluGradOp) {
        return number == 0 ? e.mul(e.mul(in[0], in[2]), siluSlope(e, in[1])) : e.mul(in[0], silu(e, in[1]));
      })
      .Default(Value());
}
