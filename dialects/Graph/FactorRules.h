// How each graph operation may be cut over a mesh axis: its factors, as in an einsum.
//
// A factor is an index that runs over one dimension (or a part of one, in a reshape) of some operands and results. A dimension is a
// product of factors, the major one first. Cutting a factor over an axis cuts every dimension that it is the first factor of, and makes every
// result that lacks it partial over the axis.
#pragma once

#include "dialects/Graph/GraphOps.h"

namespace p3d::graph {

struct Factor {
  int64_t size;
  /// False when an element depends on all positions, so that no axis may cut it.
  bool cuttable = true;
  /// How the partial values of a result that lacks this factor are combined.
  ReduceKind reduce = ReduceKind::Sum;
  /// The op needs to know where its shard starts (iota, gather along the cut dimension, cross entropy): it then carries `dist.shard`.
  bool positional = false;
};

/// The factors of one dimension, by index, major first; empty for a dimension of size 1.
using DimFactors = llvm::SmallVector<int, 1>;
using TensorFactors = llvm::SmallVector<DimFactors>;

struct FactorRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands, results;

  int addFactor(int64_t size) {
    factors.push_back({size});
    return factors.size() - 1;
  }
};

/// The rule of `op`, which is a graph operation other than program, block, call, yield and update.
FactorRule getFactorRule(mlir::Operation *op);

/// In which operands an operation is linear, so that it may be applied to partial sums.
struct Linearity {
  enum Kind {
    None,  ///< partial sums must be completed first
    Joint, ///< f(sum x, sum y) = sum f(x, y): all of `operands` partial, or none; the others must be complete
    Each   ///< linear in each of `operands` alone: exactly one may be partial
  } kind = None;
  llvm::SmallVector<unsigned> operands;
};
Linearity getLinearity(mlir::Operation *op);

} // namespace p3d::graph
