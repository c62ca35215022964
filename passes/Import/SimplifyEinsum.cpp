// Einsums: transposes become letters, and letters stand in the order of their first appearance.
#include "dialects/Graph/EinsumSpec.h"
#include "passes/Import/Simplifications.h"
#include "passes/Import/Translation.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// Takes a transpose off one operand.
bool absorbTranspose(Value &operand, std::string &letters) {
  auto transpose = operand.getDefiningOp<graph::TransposeOp>();
  if (!transpose)
    return false;
  std::string before = letters;
  for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
    before[dim] = letters[i];
  letters = before;
  operand = transpose.getOperand();
  return true;
}

/// The same spec with the letters a, b, c, ... in order of appearance.
std::string canonical(const graph::EinsumSpec &spec) {
  std::string all = spec.letters(), text = spec.str();
  for (char &c : text)
    if (size_t i = all.find(c); i != std::string::npos)
      c = 'a' + i;
  return text;
}

LogicalResult simplifyEinsum(graph::EinsumOp op, PatternRewriter &rewriter) {
  auto spec = graph::EinsumSpec::parse(op.getSpec());
  Value lhs = op.getLhs(), rhs = op.getRhs();
  bool changed = absorbTranspose(lhs, spec->lhs) | absorbTranspose(rhs, spec->rhs);
  std::string text = canonical(*spec);
  if (!changed && text == op.getSpec())
    return failure();
  rewriter.replaceOpWithNewOp<graph::EinsumOp>(op, op.getType(), text, lhs, rhs);
  return success();
}

/// A transpose that is the only use of an einsum.
LogicalResult absorbIntoResult(graph::TransposeOp op, PatternRewriter &rewriter) {
  auto einsum = op.getOperand().getDefiningOp<graph::EinsumOp>();
  if (!einsum || !einsum->hasOneUse())
    return failure();
  auto spec = graph::EinsumSpec::parse(einsum.getSpec());
  std::string result;
  for (int64_t dim : op.getPermutation())
    result += spec->result[dim];
  spec->result = result;
  rewriter.replaceOpWithNewOp<graph::EinsumOp>(op, op.getType(), canonical(*spec), einsum.getLhs(), einsum.getRhs());
  return success();
}

} // namespace

void p3d::import::addEinsumSimplifications(RewritePatternSet &patterns) {
  addRewrite<graph::EinsumOp>(patterns, simplifyEinsum);
  addRewrite<graph::TransposeOp>(patterns, absorbIntoResult);
}
