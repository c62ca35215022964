// Reverse rules of element-wise operations.
#include "passes/Autodiff/Rules.h"
#include <cmath>

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// The rule of a function of one operand whose slope is slope(op, g).
template <typename OpTy, typename Fn> void addSlope(RuleTable &table, Fn slope) {
  table.on<OpTy>([slope](OpTy op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.make<MulOp>(d, slope(op, g)); });
  });
}

/// The rule of one operand whose gradient is d divided by divisor(op, g).
template <typename OpTy, typename Fn> void addQuotient(RuleTable &table, Fn divisor) {
  table.on<OpTy>([divisor](OpTy op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.make<DivOp>(d, divisor(op, g)); });
  });
}

Value oneMinus(Value x, Gradients &g) { return g.make<SubOp>(g.splatLike(x, 1), x); }
Value onePlus(Value x, Gradients &g) { return g.make<AddOp>(g.splatLike(x, 1), x); }

/// factor * exp(-x^2)
Value gaussian(Value x, double factor, Gradients &g) {
  return g.scale(g.make<ExpOp>(g.make<NegOp>(g.make<MulOp>(x, x))), factor);
}

void addUnary(RuleTable &table) {
  constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
  table.on<NegOp>([](NegOp op, Value d, Gradients &g) { g.add(op.getOperand(), [&] { return g.make<NegOp>(d); }); });
  addSlope<AbsOp>(table, [](AbsOp op, Gradients &g) { return g.make<SignOp>(op.getOperand()); });
  addSlope<ExpOp>(table, [](ExpOp op, Gradients &) { return op.getResult(); });
  addSlope<Expm1Op>(table, [](Expm1Op op, Gradients &g) { return onePlus(op.getResult(), g); });
  addQuotient<LogOp>(table, [](LogOp op, Gradients &) { return op.getOperand(); });
  addQuotient<Log1pOp>(table, [](Log1pOp op, Gradients &g) { return onePlus(op.getOperand(), g); });
  addQuotient<SqrtOp>(table, [](SqrtOp op, Gradients &g) { return g.scale(op.getResult(), 2); });
  addSlope<RsqrtOp>(table, [](RsqrtOp op, Gradients &g) { return g.scale(g.make<DivOp>(op.getResult(), op.getOperand()), -0.5); });
  addQuotient<CbrtOp>(table, [](CbrtOp op, Gradients &g) { return g.scale(g.make<MulOp>(op.getResult(), op.getResult()), 3); });
  addSlope<TanhOp>(table, [](TanhOp op, Gradients &g) { return oneMinus(g.make<MulOp>(op.getResult(), op.getResult()), g); });
  addSlope<LogisticOp>(table, [](LogisticOp op, Gradients &g) { return g.make<MulOp>(op.getResult(), oneMinus(op.getResult(), g)); });
  addSlope<SinOp>(table, [](SinOp op, Gradients &g) { return g.make<CosOp>(op.getOperand()); });
  addSlope<CosOp>(table, [](CosOp op, Gradients &g) { return g.make<NegOp>(g.make<SinOp>(op.getOperand())); });
  addSlope<ErfOp>(table, [](ErfOp op, Gradients &g) { return gaussian(op.getOperand(), kTwoOverSqrtPi, g); });
  addSlope<ErfcOp>(table, [](ErfcOp op, Gradients &g) { return gaussian(op.getOperand(), -kTwoOverSqrtPi, g); });
  table.on<ConvertOp>([](ConvertOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.convert(d, tensorType(op.getOperand()).getElementType()); });
  });
}

/// The larger or smaller of two: the gradient goes where the value came from, half to each of equal ones.
template <typename OpTy> void addExtremum(RuleTable &table, ComparePredicate wins) {
  table.on<OpTy>([wins](OpTy op, Value d, Gradients &g) {
    auto share = [&](Value self, Value other) {
      Value tie = g.compare(ComparePredicate::Eq, self, other), zero = g.splatLike(d, 0);
      return g.select(g.compare(wins, self, other), d, g.select(tie, g.scale(d, 0.5), zero));
    };
    g.add(op.getLhs(), [&] { return share(op.getLhs(), op.getRhs()); });
    g.add(op.getRhs(), [&] { return share(op.getRhs(), op.getLhs()); });
  });
}

/// d/da a^b = b a^(b-1), 0 where b is 0; d/db a^b = a^b log(a), 0 where a is 0.
void powRule(PowOp op, Value d, Gradients &g) {
  Value a = op.getLhs(), b = op.getRhs(), zero = g.splatLike(d, 0), one = g.splatLike(d, 1);
  g.add(a, [&] {
    Value slope = g.make<MulOp>(b, g.make<PowOp>(a, g.make<SubOp>(b, one)));
    return g.make<MulOp>(d, g.select(g.compare(ComparePredicate::Eq, b, zero), zero, slope));
  });
  g.add(b, [&] {
    Value safe = g.select(g.compare(ComparePredicate::Eq, a, zero), one, a);
    return g.make<MulOp>(d, g.make<MulOp>(op.getResult(), g.make<LogOp>(safe)));
  });
}

/// rem(a, b) = a - b * trunc(a / b), and trunc is flat.
void remRule(RemOp op, Value d, Gradients &g) {
  g.add(op.getLhs(), [&] { return d; });
  g.add(op.getRhs(), [&] {
    Value quotient = g.make<DivOp>(g.make<SubOp>(op.getLhs(), op.getResult()), op.getRhs());
    return g.make<NegOp>(g.make<MulOp>(d, quotient));
  });
}

void addBinary(RuleTable &table) {
  table.on<AddOp>([](AddOp op, Value d, Gradients &g) {
    g.add(op.getLhs(), [&] { return d; });
    g.add(op.getRhs(), [&] { return d; });
  });
  table.on<SubOp>([](SubOp op, Value d, Gradients &g) {
    g.add(op.getLhs(), [&] { return d; });
    g.add(op.getRhs(), [&] { return g.make<NegOp>(d); });
  });
  table.on<MulOp>([](MulOp op, Value d, Gradients &g) {
    g.add(op.getLhs(), [&] { return g.make<MulOp>(d, op.getRhs()); });
    g.add(op.getRhs(), [&] { return g.make<MulOp>(d, op.getLhs()); });
  });
  table.on<DivOp>([](DivOp op, Value d, Gradients &g) {
    g.add(op.getLhs(), [&] { return g.make<DivOp>(d, op.getRhs()); });
    g.add(op.getRhs(), [&] {
      return g.make<NegOp>(g.make<DivOp>(g.make<MulOp>(d, op.getResult()), op.getRhs()));
    });
  });
  addExtremum<MaxOp>(table, ComparePredicate::Gt);
  addExtremum<MinOp>(table, ComparePredicate::Lt);
  table.on<PowOp>(powRule);
  table.on<RemOp>(remRule);
}
} // namespace

void p3d::addElementwiseRules(RuleTable &table) {
  addUnary(table);
  addBinary(table);
  // A mask chooses, it does not multiply: 0 * inf would be NaN.
  table.on<SelectOp>([](SelectOp op, Value d, Gradients &g) {
    g.add(op.getOnTrue(), [&] { return g.select(op.getPredicate(), d, g.splatLike(d, 0)); });
    g.add(op.getOnFalse(), [&] { return g.select(op.getPredicate(), g.splatLike(d, 0), d); });
  });
  table.stops<SignOp, FloorOp, CeilOp, RoundEvenOp, StopGradientOp, IsFiniteOp, CompareOp>();
  table.stops<NotOp, AndOp, OrOp, XorOp, ShiftLeftOp, ShiftRightOp>();
}
