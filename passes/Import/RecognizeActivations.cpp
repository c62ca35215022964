// gelu (by tanh, by erf), silu and swiglu.
#include "passes/Import/Passes.h"
#include "passes/Import/RecognitionMatchers.h"
#include <cmath>

namespace p3d {
#define GEN_PASS_DEF_RECOGNIZEACTIVATIONS
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// Takes `x` out of the factors.
bool takeFactor(Product &product, Value x) {
  auto it = llvm::find(product.factors, x);
  if (it == product.factors.end())
    return false;
  product.factors.erase(it);
  return true;
}

/// The other addend of 1 + y.
Value matchOnePlus(Value value) {
  auto add = value.getDefiningOp<graph::AddOp>();
  if (!add)
    return {};
  return isUniform(add.getLhs(), 1) ? add.getRhs() : isUniform(add.getRhs(), 1) ? add.getLhs() : Value();
}

/// x, where `value` is sqrt(2/pi) (x + 0.044715 x^3).
Value matchTanhArgument(Value value) {
  Product outer = productOf(value);
  if (outer.factors.size() != 1 || !outer.divisors.empty() || !isAbout(value, outer.number, std::sqrt(2 / M_PI)))
    return {};
  auto add = outer.factors.front().getDefiningOp<graph::AddOp>();
  if (!add)
    return {};
  for (auto [x, cubic] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    Product product = productOf(cubic);
    SmallVector<Value> factors;
    // x * x may be used elsewhere too.
    for (Value factor : product.factors) {
      auto square = factor.getDefiningOp<graph::MulOp>();
      if (square && square.getLhs() == square.getRhs())
        factors.append(2, withoutWidening(square.getLhs()));
      else
        factors.push_back(factor);
    }
    Value bare = withoutWidening(x);
    if (factors.size() == 3 && llvm::all_equal(factors) && factors.front() == bare && product.divisors.empty() &&
        isAbout(value, product.number, 0.044715))
      return bare;
  }
  return {};
}

/// x, where `value` is x times `number`.
Value matchScaled(Value value, double number) {
  Product product = productOf(value);
  bool fits = product.factors.size() == 1 && product.divisors.empty() && isAbout(value, product.number, number);
  return fits ? product.factors.front() : Value();
}

Value recognizeGelu(Operation *root, OpBuilder &builder) {
  Product product = productOf(root->getResult(0));
  if (!product.divisors.empty() || product.factors.size() != 2 || !isAbout(root->getResult(0), product.number, 0.5))
    return {};
  for (Value gate : SmallVector<Value>(product.factors)) {
    Value x;
    graph::GeluKind kind = graph::GeluKind::Erf;
    Value inner = matchOnePlus(gate);
    if (auto tanh = inner ? withoutConverts(inner).getDefiningOp<graph::TanhOp>() : graph::TanhOp()) {
      x = matchTanhArgument(tanh.getOperand());
      kind = graph::GeluKind::Tanh;
    } else if (auto erf = inner ? withoutConverts(inner).getDefiningOp<graph::ErfOp>() : graph::ErfOp()) {
      x = matchScaled(erf.getOperand(), M_SQRT1_2);
    } else if (auto erfc = gate.getDefiningOp<graph::ErfcOp>()) {
      x = matchScaled(erfc.getOperand(), -M_SQRT1_2);
    }
    if (!x || x.getType() != root->getResult(0).getType() || !takeFactor(product, x))
      continue;
    return builder.create<graph::GeluOp>(root->getLoc(), root->getResult(0).getType(), kind, x);
  }
  return {};
}

/// x, where `value` is logistic(x), spelled out or not.
Value matchLogistic(Value value) {
  if (auto logistic = value.getDefiningOp<graph::LogisticOp>())
    return logistic.getOperand();
  auto div = value.getDefiningOp<graph::DivOp>();
  Value inner = div && isUniform(div.getLhs(), 1) ? matchOnePlus(div.getRhs()) : Value();
  auto exp = inner ? inner.getDefiningOp<graph::ExpOp>() : graph::ExpOp();
  auto neg = exp ? exp.getOperand().getDefiningOp<graph::NegOp>() : graph::NegOp();
  return neg ? neg.getOperand() : Value();
}

/// x, where `value` is silu(x).
Value matchSilu(Value value) {
  if (auto silu = value.getDefiningOp<graph::SiluOp>())
    return silu.getOperand();
  Operation *op = value.getDefiningOp();
  if (auto div = dyn_cast_or_null<graph::DivOp>(op)) { // x / (1 + exp(-x))
    Value inner = matchOnePlus(div.getRhs());
    auto exp = inner ? inner.getDefiningOp<graph::ExpOp>() : graph::ExpOp();
    auto neg = exp ? exp.getOperand().getDefiningOp<graph::NegOp>() : graph::NegOp();
    return neg && neg.getOperand() == div.getLhs() ? div.getLhs() : Value();
  }
  auto mul = dyn_cast_or_null<graph::MulOp>(op);
  if (!mul)
    return {};
  for (auto [x, gate] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
    if (Value argument = matchLogistic(gate);
        argument && (argument == x || (withoutWidening(argument) == withoutWidening(x) && argument.getType() == x.getType())))
      return x;
  return {};
}

Value recognizeSilu(Operation *root, OpBuilder &builder) {
  Type type = root->getResult(0).getType();
  if (auto mul = dyn_cast<graph::MulOp>(root))
    for (auto [gated, up] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
      if (Value gate = gated.hasOneUse() ? matchSilu(gated) : Value())
        return builder.create<graph::SwigluOp>(root->getLoc(), type, gate, up);
  if (Value x = matchSilu(root->getResult(0)))
    return builder.create<graph::SiluOp>(root->getLoc(), type, x);
  return {};
}

struct RecognizeActivationsPass : p3d::impl::RecognizeActivationsBase<RecognizeActivationsPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    replaceInReverse(getOperation(), [&](Operation *op) -> Value {
      if (!isa<graph::MulOp, graph::DivOp>(op) || !isa<FloatType>(graph::tensorType(op->getResult(0)).getElementType()))
        return {};
      builder.setInsertionPoint(op);
      if (Value gelu = recognizeGelu(op, builder))
        return gelu;
      return recognizeSilu(op, builder);
    });
  }
};

} // namespace
