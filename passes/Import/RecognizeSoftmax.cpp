// softmax, and the cross entropy of logits with one target per row.
#include "passes/Import/Passes.h"
#include "passes/Import/RecognitionMatchers.h"
#include "passes/Import/Translation.h"
#include <cmath>

namespace p3d {
#define GEN_PASS_DEF_RECOGNIZESOFTMAX
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// Whether `shift`, one number per row, is the row's largest element of x, or 0 where that is infinite.
bool isRowMaximum(Value shift, Value x) {
  shift = withoutUnitDims(shift);
  if (auto select = shift.getDefiningOp<graph::SelectOp>()) {
    auto finite = select.getPredicate().getDefiningOp<graph::IsFiniteOp>();
    if (!finite || finite.getOperand() != select.getOnTrue() || !isUniform(select.getOnFalse(), 0))
      return false;
    shift = withoutUnitDims(select.getOnTrue());
  }
  return matchRowReduction(shift, graph::ReduceKind::Max) == x;
}

/// x and its shift, where `value` is x minus its row maximum.
struct Shifted {
  Value x, shift;
};
std::optional<Shifted> matchShifted(Value value) {
  auto sub = value.getDefiningOp<graph::SubOp>();
  Value shift = sub ? rowsOf(sub.getRhs()) : Value();
  if (!shift || !isRowMaximum(shift, sub.getLhs()))
    return std::nullopt;
  return Shifted{sub.getLhs(), withoutUnitDims(shift)};
}

/// x and its shift, where `value`, one number per row, is the sum of exp(x - row maximum).
std::optional<Shifted> matchExponentialSum(Value value) {
  value = withoutUnitDims(value);
  if (auto abs = value.getDefiningOp<graph::AbsOp>())
    value = abs.getOperand();
  Value exponentials = matchRowReduction(value, graph::ReduceKind::Sum);
  auto exp = exponentials ? exponentials.getDefiningOp<graph::ExpOp>() : graph::ExpOp();
  return exp ? matchShifted(exp.getOperand()) : std::nullopt;
}

Value recognizeSoftmax(Operation *op, OpBuilder &builder) {
  auto div = dyn_cast<graph::DivOp>(op);
  auto exp = div ? div.getLhs().getDefiningOp<graph::ExpOp>() : graph::ExpOp();
  Value sum = exp ? rowsOf(div.getRhs()) : Value();
  if (!sum || matchRowReduction(sum, graph::ReduceKind::Sum) != exp.getResult())
    return {};
  std::optional<Shifted> shifted = matchShifted(exp.getOperand());
  return shifted ? builder.create<graph::SoftmaxOp>(op->getLoc(), op->getResult(0).getType(), shifted->x) : Value();
}

/// x, where `value` is log(sum(exp(x))) of each row.
Value matchLogSumExp(Value value) {
  auto add = withoutUnitDims(value).getDefiningOp<graph::AddOp>();
  if (!add)
    return {};
  for (auto [log, shift] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    auto logOp = withoutUnitDims(log).getDefiningOp<graph::LogOp>();
    std::optional<Shifted> shifted = logOp ? matchExponentialSum(logOp.getOperand()) : std::nullopt;
    if (shifted && shifted->shift == withoutUnitDims(shift))
      return shifted->x;
  }
  return {};
}

/// x, where `value` is x - log(sum(exp(x))).
Value matchLogSoftmax(Value value) {
  auto sub = value.getDefiningOp<graph::SubOp>();
  if (!sub)
    return {};
  Value rows = rowsOf(sub.getRhs());
  if (!rows)
    return {};
  if (Value x = matchLogSumExp(rows); x && x == sub.getLhs())
    return x;
  std::optional<Shifted> shifted = matchShifted(sub.getLhs());
  auto log = withoutUnitDims(rows).getDefiningOp<graph::LogOp>();
  std::optional<Shifted> summed = shifted && log ? matchExponentialSum(log.getOperand()) : std::nullopt;
  return summed && summed->x == shifted->x ? shifted->x : Value();
}

/// A gather of one element of each row of its operand.
bool picksOnePerRow(graph::GatherOp gather) {
  int64_t last = graph::tensorType(gather.getOperand()).getRank() - 1;
  return int64_t(gather.getAxis()) == last && int64_t(gather.getBatchDims()) == last &&
         graph::tensorType(gather.getIds()).getNumElements() * graph::tensorType(gather.getOperand()).getDimSize(last) ==
             graph::tensorType(gather.getOperand()).getNumElements();
}

/// The loss of each row of `logits`, in the type of `like`.
Value crossEntropy(OpBuilder &builder, Location loc, Value logits, Value ids, RankedTensorType like) {
  logits = withoutWidening(logits);
  auto rows = statisticsType(logits);
  Value targets = reshape(builder, loc, ids, rows.getShape());
  Value loss = builder.create<graph::SoftmaxCrossEntropyOp>(loc, rows, rows, rows, logits, targets).getLoss();
  loss = reshape(builder, loc, loss, like.getShape());
  return loss.getType() == like ? loss : builder.create<graph::ConvertOp>(loc, like, loss);
}

/// gather(log_softmax(x), target) is minus the loss.
Value recognizeGathered(graph::GatherOp gather, OpBuilder &builder) {
  Value x = picksOnePerRow(gather) ? matchLogSoftmax(gather.getOperand()) : Value();
  if (!x)
    return {};
  Value loss = crossEntropy(builder, gather.getLoc(), x, gather.getIds(), gather.getType());
  return builder.create<graph::NegOp>(gather.getLoc(), gather.getType(), loss);
}

/// log(sum(exp(x))) - x[target]; where a target outside the row makes NaN, it still does.
Value recognizeDifference(graph::SubOp sub, OpBuilder &builder) {
  Value x = matchLogSumExp(sub.getLhs());
  if (!x)
    return {};
  Value picked = withoutUnitDims(sub.getRhs());
  auto select = picked.getDefiningOp<graph::SelectOp>();
  if (select)
    picked = withoutUnitDims(select.getOnTrue());
  auto gather = picked.getDefiningOp<graph::GatherOp>();
  if (!gather || gather.getOperand() != x || !picksOnePerRow(gather))
    return {};
  std::optional<double> fill = select ? uniformValue(select.getOnFalse()) : std::nullopt;
  if (select && !(fill && std::isnan(*fill)))
    return {};
  Value loss = crossEntropy(builder, sub.getLoc(), x, gather.getIds(), sub.getType());
  if (!select)
    return loss;
  Value inside = reshape(builder, sub.getLoc(), select.getPredicate(), sub.getType().getShape());
  return builder.create<graph::SelectOp>(sub.getLoc(), sub.getType(), inside, loss, splat(builder, sub.getLoc(), sub.getType(), *fill));
}

struct RecognizeSoftmaxPass : p3d::impl::RecognizeSoftmaxBase<RecognizeSoftmaxPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    replaceInReverse(getOperation(), [&](Operation *op) -> Value {
      builder.setInsertionPoint(op);
      if (auto sub = dyn_cast<graph::SubOp>(op))
        return recognizeDifference(sub, builder);
      if (auto gather = dyn_cast<graph::GatherOp>(op))
        return recognizeGathered(gather, builder);
      return recognizeSoftmax(op, builder);
    });
  }
};

} // namespace
