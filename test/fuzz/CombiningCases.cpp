#include "OpCases.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;

namespace {
graph::ReduceKind order(ProgramBuilder &b) { return b.random.chance(0.5) ? graph::ReduceKind::Max : graph::ReduceKind::Min; }

Item *reduce(ProgramBuilder &b) {
  bool isLogical = b.random.chance(0.1);
  Item *x = isLogical ? b.pick([](const Item &item) { return item.isBool() && item.rank() > 0; }) : b.anyFloat(1);
  if (!x)
    return nullptr;
  SmallVector<int64_t> dims, shape;
  for (int64_t d = 0; d < x->rank(); ++d)
    if (b.random.chance(0.5) && !(b.rules.isCut && x->batch[d] && b.random.chance(0.9)))
      dims.push_back(d);
    else
      shape.push_back(x->shape()[d]);
  auto kind = isLogical ? (b.random.chance(0.5) ? graph::ReduceKind::And : graph::ReduceKind::Or)
              : b.random.chance(0.6) ? graph::ReduceKind::Sum
              : b.random.chance(0.3) ? graph::ReduceKind::Prod
                                     : order(b);
  if (dims.empty())
    return nullptr;
  return b.make<graph::ReduceOp>(b.type(shape, x->element()), kind, x->value, dims);
}

Item *cumulative(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  int64_t d = b.random.below(x->rank());
  auto kind = b.random.chance(0.6) ? graph::ReduceKind::Sum : order(b);
  return b.make<graph::CumulativeOp>(x->type(), kind, x->value, d, b.random.chance(0.5));
}

/// Letters of a product: each dimension of `x` is summed, shared or kept, the other operand has some of its own.
Item *einsum(ProgramBuilder &b) {
  Item *x = b.anyFloat();
  std::string lhs, rhs, result;
  SmallVector<int64_t> shape, rhsShape;
  SmallVector<bool> rhsBatch;
  Item *y = b.random.chance(0.4) ? b.pick([&](const Item &item) { return item.element() == x->element(); }) : nullptr;
  for (int64_t d = 0; d < x->rank(); ++d)
    lhs += char('a' + d);
  if (y) {
    // Dimensions of equal size may be one.
    for (int64_t d = 0; d < y->rank(); ++d) {
      char letter = char('m' + d);
      for (int64_t e = 0; e < x->rank(); ++e)
        if (x->shape()[e] == y->shape()[d] && x->batch[e] == y->batch[d] && rhs.find(lhs[e]) == std::string::npos && (x->batch[e] || b.random.chance(0.7)))
          letter = lhs[e];
      rhs += letter;
    }
  } else {
    for (int64_t d = 0; d < x->rank(); ++d)
      if (!x->batch[d] && b.random.chance(0.6)) {
        rhs += lhs[d];
        rhsShape.push_back(x->shape()[d]);
      }
    for (int64_t i = 0, own = b.random.between(0, 2); i < own; ++i) {
      rhs += char('m' + i);
      rhsShape.push_back(b.size());
    }
    y = b.parameter(rhsShape, x->element(), -1, 1);
  }
  auto sizeOf = [&](char letter) { return lhs.find(letter) != std::string::npos ? x->shape()[lhs.find(letter)] : y->shape()[rhs.find(letter)]; };
  std::string letters = lhs;
  for (char letter : rhs)
    if (lhs.find(letter) == std::string::npos)
      letters += letter;
  for (char letter : letters) {
    size_t inLhs = lhs.find(letter), inRhs = rhs.find(letter);
    bool isShared = inLhs != std::string::npos && inRhs != std::string::npos;
    bool isBatch = inLhs != std::string::npos ? x->batch[inLhs] : y->batch[inRhs];
    double kept = isBatch && b.rules.isCut ? 0.97 : isShared ? 0.25 : 0.9;
    if (b.random.chance(kept))
      result += letter;
  }
  if (b.random.chance(0.3))
    b.random.shuffle(result);
  for (char letter : result)
    shape.push_back(sizeOf(letter));
  std::string spec = lhs + "," + rhs + "->" + result;
  Value operands[] = {x->value, y->value};
  if (b.random.chance(0.3)) {
    spec = rhs + "," + lhs + "->" + result;
    std::swap(operands[0], operands[1]);
  }
  return b.make<graph::EinsumOp>(b.type(shape, x->element()), b.builder.getStringAttr(spec), operands[0], operands[1]);
}
} // namespace

void p3d::fuzz::addCombiningCases(std::vector<OpCase> &cases) {
  cases.push_back({"reduce", reduce, 4});
  cases.push_back({"cumulative", cumulative, 1});
  cases.push_back({"einsum", einsum, 16});
}
