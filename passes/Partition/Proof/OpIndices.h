// The meaning of graph ops as indices: which dimensions of operands and results are one index of the op's formula.
//
// result[b, f] = sum over d of lhs[b, d] * rhs[d, f] has the indices b, d, f. All dimensions of an index run over the
// same rows, so on each rank they must hold the same ones. Read from the ops' definitions on their local shapes; sizes
// of 1 have an index like any other, unless they are broadcast.
#pragma once

#include "passes/Partition/Proof/ValueType.h"

namespace p3d::partition::proof {

struct Index {
  /// Why no axis may cut it; empty if one may.
  llvm::StringRef wholeBecause;
  /// How the op combines what a cut leaves partial, in a result that lacks the index.
  dist::ReduceKind reduce = dist::ReduceKind::Sum;
  /// Elements depend on where a shard starts: where the index is cut the op carries dist.shard.
  bool positional = false;
};

/// A dimension that is no index: of whole size 1, and repeated as needed.
inline constexpr int kUnit = -1;

struct OpIndices {
  llvm::SmallVector<Index> indices;
  llvm::SmallVector<llvm::SmallVector<int, 4>> operands, results;
  /// An index that is a product with another as its major part (query heads and key heads): both are cut alike or
  /// neither, in one ratio.
  std::optional<std::pair<int, int>> productAndMajor;

  int add(llvm::StringRef wholeBecause = "") {
    indices.push_back({wholeBecause});
    return indices.size() - 1;
  }
};

/// The indices of `op`, given the types of its operands; nullopt for an op that has no rule. Not for reshape, call,
/// update and yield, or collectives.
std::optional<OpIndices> indicesOf(mlir::Operation *op, llvm::ArrayRef<const ValueType *> operands);

/// What stands in the padding of index `index` of each result of `op`, given that of the operands that have it; nullopt
/// for anything.
std::optional<double> resultPadding(mlir::Operation *op, const OpIndices &indices, int index,
                                    llvm::ArrayRef<const ValueType *> operands, mlir::Value result);

/// The padding that adds nothing where `op` combines an index.
double neutralPadding(mlir::Operation *op);

} // namespace p3d::partition::proof
