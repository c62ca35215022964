#include "passes/Import/AttentionMatch.h"
#include "passes/Import/Translation.h"
#include <cmath>

using namespace mlir;

namespace p3d::import {

namespace {

/// Whether `predicate`, in the shape of the scores [.., s, t], says that position t is not behind position s.
bool isCausal(Value predicate) {
  auto scores = graph::tensorType(predicate);
  int64_t key = scores.getRank() - 1, query = key - 1;
  if (query < 0 || scores.getDimSize(query) != scores.getDimSize(key))
    return false;
  Spread spread = spreadOf(predicate);
  auto compare = spread.source.getDefiningOp<graph::CompareOp>();
  if (!compare)
    return false;
  auto along = [&](Value side) -> int64_t {
    std::optional<int64_t> dim = iotaDim(side);
    return dim ? spread.dims[*dim] : -1;
  };
  int64_t lhs = along(compare.getLhs()), rhs = along(compare.getRhs());
  // A predicate of one sequence for all of the batch may be spelled out for each.
  return (compare.getPredicate() == graph::ComparePredicate::Ge && lhs == query && rhs == key) ||
         (compare.getPredicate() == graph::ComparePredicate::Le && lhs == key && rhs == query);
}

/// The number that an added mask has where the position is ahead, where it is 0 elsewhere: far enough below every score that nothing is left of their
/// exponentials. nullopt for other masks.
std::optional<double> matchCausalMask(Value mask) {
  Spread spread = spreadOf(mask);
  auto select = spread.source.getDefiningOp<graph::SelectOp>();
  std::optional<double> number = select ? uniformValue(select.getOnFalse()) : std::nullopt;
  constexpr double kFarBelow = -1e9;
  if (!number || *number > kFarBelow || !isUniform(select.getOnTrue(), 0))
    return std::nullopt;
  // The predicate in the dimensions of the scores: those of the mask's last two.
  auto type = graph::tensorType(mask), source = graph::tensorType(spread.source);
  bool isSquare = source.getRank() >= 2 && type.getRank() >= 2 && spread.dims.back() == type.getRank() - 1 &&
                  spread.dims[source.getRank() - 2] == type.getRank() - 2;
  return isSquare && isCausal(select.getPredicate()) ? number : std::nullopt;
}

/// The scores chosen where a predicate holds, else a number: causal, or a mask of 0 and -infinity that may be added just as well.
bool matchSelect(graph::SelectOp select, Scores &scores, OpBuilder &builder) {
  std::optional<double> number = uniformValue(select.getOnFalse());
  if (!number || scores.causal)
    return false;
  Value predicate = select.getPredicate(), other;
  if (auto both = spreadOf(predicate).source.getDefiningOp<graph::AndOp>(); both && both.getType() == predicate.getType())
    for (auto [a, b] : {std::pair(both.getLhs(), both.getRhs()), std::pair(both.getRhs(), both.getLhs())})
      if (!other && isCausal(a)) {
        predicate = a;
        other = b;
      }
  if (isCausal(predicate)) {
    scores.causal = true;
    scores.maskedValue = *number;
  } else {
    other = predicate;
  }
  if (!other)
    return true;
  // x + (-inf) is -inf, but x + (-1e9) is not -1e9 in exact arithmetic: only then may the mask be added instead.
  if (!std::isinf(*number) || *number > 0 || scores.mask)
    return false;
  auto type = graph::tensorType(select.getResult()).clone(Float32Type::get(select.getContext()));
  Location loc = select.getLoc();
  scores.mask = builder.create<graph::SelectOp>(loc, type, other, splat(builder, loc, type, 0), splat(builder, loc, type, *number));
  return true;
}

} // namespace

std::optional<Scores> matchScores(Value value, OpBuilder &builder) {
  Scores scores;
  bool scaled = false; // what is outside a scaling is not scaled; masks inside one would be
  while (true) {
    value = withoutConverts(value);
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto product = dyn_cast<graph::EinsumOp>(op)) {
      scores.product = product;
      return scores;
    }
    if (!value.hasOneUse() && !isa<graph::SelectOp>(op))
      // The softmax reads its operand once; whatever else reads the scores needs them in memory anyway.
      return std::nullopt;
    if (isa<graph::MulOp, graph::DivOp>(op)) {
      Value inner = op->getOperand(0), factor = op->getOperand(1);
      if (isa<graph::MulOp>(op) && uniformValue(inner))
        std::swap(inner, factor);
      std::optional<double> number = uniformValue(factor);
      if (!number)
        return std::nullopt;
      scores.scale *= isa<graph::MulOp>(op) ? *number : 1 / *number;
      scaled = true;
      value = inner;
    } else if (auto select = dyn_cast<graph::SelectOp>(op); select && !scaled) {
      if (!matchSelect(select, scores, builder))
        return std::nullopt;
      value = select.getOnTrue();
    } else if (isa<graph::AddOp>(op) && !scaled && !scores.mask) {
      // The operand that leads on to the product holds activations; the mask is spread over heads.
      Value inner = op->getOperand(0), mask = op->getOperand(1);
      if (spreadOf(inner).source != inner)
        std::swap(inner, mask);
      if (spreadOf(mask).source == mask)
        return std::nullopt;
      if (std::optional<double> number = scores.causal ? std::nullopt : matchCausalMask(mask)) {
        scores.causal = true;
        scores.maskedValue = *number;
      } else {
        scores.mask = mask;
      }
      value = inner;
    } else {
      return std::nullopt;
    }
  }
}

} // namespace p3d::import
