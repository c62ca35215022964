// Neutral elements and uniform constants.
#include "passes/Import/GraphPatterns.h"
#include "passes/Import/Simplifications.h"
#include "passes/Import/Translation.h"
#include <cmath>

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// Result of `op` on two numbers, as the double nearest to it; integers must be exact in it.
std::optional<double> compute(Operation *op, double a, double b) {
  bool isFloat = isa<FloatType>(graph::tensorType(op->getResult(0)).getElementType());
  std::optional<double> result;
  if (isa<graph::AddOp>(op))
    result = a + b;
  else if (isa<graph::SubOp>(op))
    result = a - b;
  else if (isa<graph::MulOp>(op))
    result = a * b;
  else if (isa<graph::DivOp>(op) && isFloat)
    result = a / b;
  else if (isa<graph::MaxOp>(op) && !std::isnan(a) && !std::isnan(b))
    result = std::max(a, b);
  else if (isa<graph::MinOp>(op) && !std::isnan(a) && !std::isnan(b))
    result = std::min(a, b);
  // Wrapping integers and large ones are left to run time.
  if (result && !isFloat && (std::fabs(*result) >= double(1 << 30) || (*result < 0 && op->getResult(0).getType().isUnsignedInteger())))
    return std::nullopt;
  return result;
}

LogicalResult foldUniform(Operation *op, PatternRewriter &rewriter) {
  auto a = uniformValue(op->getOperand(0)), b = uniformValue(op->getOperand(1));
  auto type = graph::tensorType(op->getResult(0));
  if (!a || !b || type.getElementType().isInteger(1))
    return failure();
  std::optional<double> result = compute(op, *a, *b);
  if (!result)
    return failure();
  rewriter.replaceOp(op, splat(rewriter, op->getLoc(), type, *result));
  return success();
}

/// Replaces `op` by one of its operands when the other one is uniformly `neutral`.
LogicalResult dropNeutral(Operation *op, double neutral, bool commutes, PatternRewriter &rewriter) {
  if (isUniform(op->getOperand(1), neutral))
    return rewriter.replaceOp(op, op->getOperand(0)), success();
  if (commutes && isUniform(op->getOperand(0), neutral))
    return rewriter.replaceOp(op, op->getOperand(1)), success();
  return failure();
}

template <typename OpTy> LogicalResult simplifyBinary(OpTy op, PatternRewriter &rewriter) {
  if (succeeded(foldUniform(op, rewriter)))
    return success();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if constexpr (std::is_same_v<OpTy, graph::AddOp>) {
    // 0 + x of scalars or vectors may start a sum over layers (auxiliary losses): kept, so that the first layer is like the others.
    return op.getType().getRank() <= 1 ? failure() : dropNeutral(op, 0, true, rewriter);
  } else if constexpr (std::is_same_v<OpTy, graph::SubOp>)
    return dropNeutral(op, 0, false, rewriter);
  else if constexpr (std::is_same_v<OpTy, graph::MulOp>) {
    for (auto [number, x] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (isUniform(number, -1) && isa<FloatType>(op.getType().getElementType()))
        return rewriter.replaceOpWithNewOp<graph::NegOp>(op, op.getType(), x), success();
    return dropNeutral(op, 1, true, rewriter);
  } else if constexpr (std::is_same_v<OpTy, graph::DivOp>)
    return dropNeutral(op, 1, false, rewriter);
  else if constexpr (std::is_same_v<OpTy, graph::MaxOp>)
    return dropNeutral(op, -infinity, true, rewriter);
  else if constexpr (std::is_same_v<OpTy, graph::MinOp>)
    return dropNeutral(op, infinity, true, rewriter);
  return failure();
}

/// and with true, or with false, x and x; only truth values, where 1 is all ones.
template <typename OpTy> LogicalResult simplifyLogical(OpTy op, PatternRewriter &rewriter) {
  bool isAnd = std::is_same_v<OpTy, graph::AndOp>;
  if (op.getLhs() == op.getRhs())
    return rewriter.replaceOp(op, op.getLhs()), success();
  if (!op.getType().getElementType().isInteger(1))
    return failure();
  for (auto [one, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    if (isUniform(one, isAnd ? 1 : 0))
      return rewriter.replaceOp(op, other), success();
    if (isUniform(one, isAnd ? 0 : 1))
      return rewriter.replaceOp(op, one), success();
  }
  return failure();
}

LogicalResult simplifyPow(graph::PowOp op, PatternRewriter &rewriter) {
  std::optional<double> exponent = uniformValue(op.getRhs());
  if (!exponent || !isa<FloatType>(op.getType().getElementType()))
    return failure();
  Value x = op.getLhs();
  if (*exponent == 1)
    return rewriter.replaceOp(op, x), success();
  if (*exponent == 2)
    return rewriter.replaceOpWithNewOp<graph::MulOp>(op, op.getType(), x, x), success();
  if (*exponent == 3) {
    Value square = rewriter.create<graph::MulOp>(op.getLoc(), op.getType(), x, x);
    return rewriter.replaceOpWithNewOp<graph::MulOp>(op, op.getType(), square, x), success();
  }
  if (*exponent == -0.5)
    return rewriter.replaceOpWithNewOp<graph::RsqrtOp>(op, op.getType(), x), success();
  return failure();
}

LogicalResult simplifySelect(graph::SelectOp op, PatternRewriter &rewriter) {
  if (op.getOnTrue() == op.getOnFalse())
    return rewriter.replaceOp(op, op.getOnTrue()), success();
  if (std::optional<double> predicate = uniformValue(op.getPredicate()))
    return rewriter.replaceOp(op, *predicate != 0 ? op.getOnTrue() : op.getOnFalse()), success();
  if (op.getType().getElementType().isInteger(1)) {
    if (isUniform(op.getOnTrue(), 1) && isUniform(op.getOnFalse(), 0))
      return rewriter.replaceOp(op, op.getPredicate()), success();
    if (isUniform(op.getOnFalse(), 0))
      return rewriter.replaceOpWithNewOp<graph::AndOp>(op, op.getType(), op.getPredicate(), op.getOnTrue()), success();
  }
  return failure();
}

bool holds(graph::ComparePredicate predicate, double a, double b) {
  switch (predicate) {
  case graph::ComparePredicate::Eq:
    return a == b;
  case graph::ComparePredicate::Ne:
    return a != b;
  case graph::ComparePredicate::Lt:
    return a < b;
  case graph::ComparePredicate::Le:
    return a <= b;
  case graph::ComparePredicate::Gt:
    return a > b;
  case graph::ComparePredicate::Ge:
    return a >= b;
  }
  llvm_unreachable("all predicates are handled");
}

/// Comparisons of numbers; positions are never below 0 nor beyond their dimension.
LogicalResult simplifyCompare(graph::CompareOp op, PatternRewriter &rewriter) {
  auto lhs = uniformValue(op.getLhs()), rhs = uniformValue(op.getRhs());
  if (lhs && rhs)
    return rewriter.replaceOp(op, splat(rewriter, op.getLoc(), op.getType(), holds(op.getPredicate(), *lhs, *rhs))), success();
  std::optional<int64_t> dim = iotaDim(op.getLhs());
  std::optional<double> bound = uniformValue(op.getRhs());
  if (!dim || !bound)
    return failure();
  double last = graph::tensorType(op.getLhs()).getDimSize(*dim) - 1;
  std::optional<bool> result;
  switch (op.getPredicate()) {
  case graph::ComparePredicate::Lt:
    result = *bound <= 0 ? std::optional(false) : *bound > last ? std::optional(true) : std::nullopt;
    break;
  case graph::ComparePredicate::Ge:
    result = *bound <= 0 ? std::optional(true) : *bound > last ? std::optional(false) : std::nullopt;
    break;
  case graph::ComparePredicate::Le:
    result = *bound < 0 ? std::optional(false) : *bound >= last ? std::optional(true) : std::nullopt;
    break;
  case graph::ComparePredicate::Gt:
    result = *bound < 0 ? std::optional(true) : *bound >= last ? std::optional(false) : std::nullopt;
    break;
  case graph::ComparePredicate::Eq:
  case graph::ComparePredicate::Ne:
    break;
  }
  if (!result)
    return failure();
  rewriter.replaceOp(op, splat(rewriter, op.getLoc(), op.getType(), *result));
  return success();
}

LogicalResult simplifyNeg(graph::NegOp op, PatternRewriter &rewriter) {
  if (auto inner = op.getOperand().getDefiningOp<graph::NegOp>())
    return rewriter.replaceOp(op, inner.getOperand()), success();
  std::optional<double> number = uniformValue(op.getOperand());
  if (!number || !isa<FloatType>(op.getType().getElementType()))
    return failure();
  rewriter.replaceOp(op, splat(rewriter, op.getLoc(), op.getType(), -*number));
  return success();
}

LogicalResult foldConvert(graph::ConvertOp op, PatternRewriter &rewriter) {
  std::optional<double> number = uniformValue(op.getOperand());
  Type element = op.getType().getElementType();
  if (!number || std::isnan(*number))
    return failure();
  if (isa<IntegerType>(element) && (std::fabs(*number) >= double(1 << 30) || (element.isUnsignedInteger() && *number < 0)))
    return failure();
  double value = element.isInteger(1) ? *number != 0 : isa<IntegerType>(element) ? std::trunc(*number) : *number;
  rewriter.replaceOp(op, splat(rewriter, op.getLoc(), op.getType(), value));
  return success();
}

} // namespace

void p3d::import::addArithmeticSimplifications(RewritePatternSet &patterns) {
  addRewrite<graph::AddOp>(patterns, simplifyBinary<graph::AddOp>);
  addRewrite<graph::SubOp>(patterns, simplifyBinary<graph::SubOp>);
  addRewrite<graph::MulOp>(patterns, simplifyBinary<graph::MulOp>);
  addRewrite<graph::DivOp>(patterns, simplifyBinary<graph::DivOp>);
  addRewrite<graph::MaxOp>(patterns, simplifyBinary<graph::MaxOp>);
  addRewrite<graph::MinOp>(patterns, simplifyBinary<graph::MinOp>);
  addRewrite<graph::AndOp>(patterns, simplifyLogical<graph::AndOp>);
  addRewrite<graph::OrOp>(patterns, simplifyLogical<graph::OrOp>);
  addRewrite<graph::PowOp>(patterns, simplifyPow);
  addRewrite<graph::SelectOp>(patterns, simplifySelect);
  addRewrite<graph::CompareOp>(patterns, simplifyCompare);
  addRewrite<graph::NegOp>(patterns, simplifyNeg);
  addRewrite<graph::ConvertOp>(patterns, foldConvert);
}
