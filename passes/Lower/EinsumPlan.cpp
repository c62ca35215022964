// Letters of both operands and the result, or of one operand alone, are loops; those of the left operand and the result make up M, of the right one and the
// result N, of the operands alone K. Letters of one kind that lie side by side in every tensor are joined first; of what is left the largest becomes the matrix
// dimension and the others loops.
#include "passes/Lower/EinsumPlan.h"
#include "dialects/Graph/EinsumSpec.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstring>

using namespace p3d;

namespace {
struct Dim {
  int64_t size, a, b, c; // steps, 0 where the tensor lacks the letter
  int kind() const { return (a ? 1 : 0) | (b ? 2 : 0) | (c ? 4 : 0); }
};
enum Kind { M = 1 | 4, N = 2 | 4, K = 1 | 2 };

int64_t stepOf(const std::string &letters, llvm::ArrayRef<int64_t> shape, char letter) {
  int64_t step = 1;
  for (size_t dim = shape.size(); dim-- > 0; step *= shape[dim])
    if (letters[dim] == letter)
      return step;
  return 0;
}

/// All letters with their steps, in the order of the result, then of the operands; sizes of 1 left out.
llvm::SmallVector<Dim> dimsOf(const graph::EinsumSpec &spec, llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs,
                              llvm::ArrayRef<int64_t> result) {
  graph::EinsumSpec byResult{spec.result, spec.lhs, spec.rhs};
  llvm::SmallVector<Dim> dims;
  for (char letter : byResult.letters()) {
    int64_t size = graph::EinsumSpec::has(spec.lhs, letter) ? lhs[spec.lhs.find(letter)] : rhs[spec.rhs.find(letter)];
    if (size == 1)
      continue;
    dims.push_back({size, stepOf(spec.lhs, lhs, letter), stepOf(spec.rhs, rhs, letter),
                    stepOf(spec.result, result, letter)});
  }
  return dims;
}

/// Whether every tensor that has the dimensions walks `outer` and `inner` as one.
bool joins(const Dim &outer, const Dim &inner) {
  return outer.kind() == inner.kind() && outer.a == inner.a * inner.size && outer.b == inner.b * inner.size &&
         outer.c == inner.c * inner.size;
}

void joinDims(llvm::SmallVectorImpl<Dim> &dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    for (size_t j = 0; j < dims.size(); ++j)
      if (i != j && joins(dims[i], dims[j])) {
        dims[i] = {dims[i].size * dims[j].size, dims[j].a, dims[j].b, dims[j].c};
        dims.erase(dims.begin() + j);
        i = j = -1;
        break;
      }
}

/// Takes the dimension of `kind` out that makes the best matrix dimension: one with a unit step in a tensor if it is not tiny, else the largest.
std::optional<Dim> takeDim(llvm::SmallVectorImpl<Dim> &dims, int kind) {
  auto weight = [](const Dim &dim) {
    bool unit = dim.a == 1 || dim.b == 1 || dim.c == 1;
    return dim.size * (unit && dim.size >= 8 ? 64 : 1);
  };
  Dim *best = nullptr;
  for (Dim &dim : dims)
    if (dim.kind() == kind && (!best || weight(dim) > weight(*best)))
      best = &dim;
  if (!best)
    return std::nullopt;
  Dim taken = *best;
  dims.erase(best);
  return taken;
}
} // namespace

std::optional<p3d_einsum_plan> p3d::lower::planEinsum(llvm::StringRef text, llvm::ArrayRef<int64_t> lhs,
                                                      llvm::ArrayRef<int64_t> rhs, llvm::ArrayRef<int64_t> result) {
  auto dims = dimsOf(*graph::EinsumSpec::parse(text), lhs, rhs, result);
  joinDims(dims);
  p3d_einsum_plan plan;
  std::memset(&plan, 0, sizeof plan);
  Dim one{1, 0, 0, 0};
  Dim m = takeDim(dims, M).value_or(one), n = takeDim(dims, N).value_or(one), k = takeDim(dims, K).value_or(one);
  plan.m = m.size, plan.n = n.size, plan.k = k.size;
  plan.aM = m.a, plan.cM = m.c;
  plan.bN = n.b, plan.cN = n.c;
  plan.aK = k.a, plan.bK = k.b;
  if (dims.size() > 8)
    return std::nullopt;
  for (const Dim &dim : dims) {
    plan.extent[plan.loopCount] = dim.size;
    plan.aLoop[plan.loopCount] = dim.a;
    plan.bLoop[plan.loopCount] = dim.b;
    plan.cLoop[plan.loopCount++] = dim.c;
  }
  return plan;
}
