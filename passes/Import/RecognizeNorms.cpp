// layer_norm and rms_norm in their decomposed forms.
#include "passes/Import/Passes.h"
#include "passes/Import/RecognitionMatchers.h"
#include "passes/Import/Translation.h"

namespace p3d {
#define GEN_PASS_DEF_RECOGNIZENORMS
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// 1 / sqrt(mean(square of `squared`) + epsilon), one per row.
struct InverseRoot {
  Value squared;
  double epsilon;
};

std::optional<InverseRoot> matchVariance(Value sum) {
  auto add = withoutUnitDims(sum).getDefiningOp<graph::AddOp>();
  if (!add)
    return std::nullopt;
  Value variance = add.getLhs(), epsilon = add.getRhs();
  if (uniformValue(variance))
    std::swap(variance, epsilon);
  std::optional<double> number = uniformValue(epsilon);
  Value square = matchRowMean(variance);
  auto mul = square ? square.getDefiningOp<graph::MulOp>() : graph::MulOp();
  if (!number || !mul || mul.getLhs() != mul.getRhs())
    return std::nullopt;
  return InverseRoot{mul.getLhs(), *number};
}

/// The inverse root among the factors and divisors of a product; it is taken out of them.
std::optional<InverseRoot> takeInverseRoot(Product &product) {
  for (auto *list : {&product.factors, &product.divisors})
    for (size_t i = 0; i < list->size(); ++i) {
      Value rows = rowsOf((*list)[i]);
      Operation *op = rows ? withoutUnitDims(rows).getDefiningOp() : nullptr;
      bool fits = list == &product.factors ? isa_and_nonnull<graph::RsqrtOp>(op) : isa_and_nonnull<graph::SqrtOp>(op);
      if (!fits)
        continue;
      if (auto found = matchVariance(op->getOperand(0))) {
        list->erase(list->begin() + i);
        return found;
      }
    }
  return std::nullopt;
}

/// x, where `value` is x minus its mean over the last dimension.
Value matchCentered(Value value) {
  auto sub = value.getDefiningOp<graph::SubOp>();
  Value mean = sub ? rowsOf(sub.getRhs()) : Value();
  Value x = mean ? matchRowMean(mean) : Value();
  return x && withoutWidening(x) == withoutWidening(sub.getLhs()) ? sub.getLhs() : Value();
}

class NormRecognizer {
public:
  explicit NormRecognizer(OpBuilder &builder) : builder(builder) {}

  /// The norm that `root` is the end of; null when it is none.
  Value recognize(Operation *root) {
    builder.setInsertionPoint(root);
    if (auto add = dyn_cast<graph::AddOp>(root)) {
      for (auto [scaled, bias] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())})
        if (Value vector = vectorOf(bias); vector && !uniformValue(bias) && withoutConverts(scaled).hasOneUse())
          if (Value norm = build(root, productOf(scaled), vector))
            return norm;
      return {};
    }
    return isa<graph::MulOp, graph::DivOp>(root) ? build(root, productOf(root->getResult(0)), {}) : Value();
  }

private:
  Value build(Operation *root, Product product, Value bias) {
    if (product.number != 1)
      return {};
    std::optional<InverseRoot> inverse = takeInverseRoot(product);
    if (!inverse || !product.divisors.empty() || product.factors.empty() || product.factors.size() > 2)
      return {};
    // One factor is what the statistics are of, the other, if any, the scale.
    Value squared = withoutWidening(inverse->squared);
    auto it = llvm::find_if(product.factors, [&](Value factor) { return withoutWidening(factor) == squared; });
    if (it == product.factors.end())
      return {};
    product.factors.erase(it);
    Value scale;
    if (!product.factors.empty() && !(scale = vectorOf(product.factors.front())))
      return {};
    Value centered = matchCentered(squared);
    if (!centered && bias)
      return {};
    return create(root, centered ? centered : squared, scale, bias, inverse->epsilon, centered != nullptr);
  }

  Value create(Operation *root, Value x, Value scale, Value bias, double epsilon, bool isLayerNorm) {
    Location loc = root->getLoc();
    auto type = graph::tensorType(root->getResult(0));
    // Statistics are computed in f32 from whatever x comes in, so that a conversion before is not needed.
    Value operand = withoutWidening(x);
    if (graph::tensorType(operand).getElementType() != type.getElementType())
      operand = x;
    auto vector = [&](Value value, double otherwise) {
      auto vectorType = RankedTensorType::get(type.getShape().take_back(), type.getElementType());
      return value ? reshape(builder, loc, value, vectorType.getShape()) : splat(builder, loc, vectorType, otherwise);
    };
    auto rows = statisticsType(operand);
    auto eps = builder.getF64FloatAttr(epsilon);
    scale = vector(scale, 1);
    if (!isLayerNorm)
      return builder.create<graph::RmsNormOp>(loc, type, rows, operand, scale, eps).getResult();
    return builder.create<graph::LayerNormOp>(loc, type, rows, rows, operand, scale, vector(bias, 0), eps).getResult();
  }

  OpBuilder &builder;
};

struct RecognizeNormsPass : p3d::impl::RecognizeNormsBase<RecognizeNormsPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    NormRecognizer recognizer(builder);
    // From users to what they use: the whole of a norm before a part of it.
    replaceInReverse(getOperation(), [&](Operation *op) { return recognizer.recognize(op); });
  }
};

} // namespace
