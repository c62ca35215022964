// Where the factors of an operation's rule stand, and how a value lies when they are cut.
#pragma once

#include "passes/Shard/ShardingAnalysis.h"

namespace p3d::shard {

/// Position of the dimension that starts with `factor`, or -1.
inline int dimOf(const graph::TensorFactors &dims, int factor) {
  for (auto [d, factors] : llvm::enumerate(dims))
    if (!factors.empty() && factors.front() == factor)
      return d;
  return -1;
}

inline bool contains(const graph::TensorFactors &dims, int factor) {
  return llvm::any_of(dims, [&](const graph::DimFactors &dim) { return llvm::is_contained(dim, factor); });
}

/// Whether `factor` starts each dimension that it is part of, so that cutting it cuts whole dimensions.
inline bool alwaysFirst(const graph::FactorRule &rule, int factor) {
  auto isFirst = [&](const graph::TensorFactors &dims) { return !contains(dims, factor) || dimOf(dims, factor) >= 0; };
  return llvm::all_of(rule.operands, isFirst) && llvm::all_of(rule.results, isFirst);
}

inline Placement complete(Placement placement) {
  for (Part *part : {&placement.tp[0], &placement.tp[1], &placement.batch})
    part->isPartial = false;
  return placement;
}

inline const Part &overMajor(const Placement &placement) { return placement.tp[0]; }
inline const Part &overMinor(const Placement &placement) { return placement.tp[1]; }
inline const Part &overBatch(const Placement &placement) { return placement.batch; }

/// The dimension that is cut over tp_major or tp_minor where the former cuts `cuts[0].factor` and the latter the same factor, or one that stands behind it.
inline int dimOf(const graph::TensorFactors &dims, const std::array<Cut, 2> &cuts, int index) {
  if (cuts[index].factor < 0)
    return -1;
  int dim = dimOf(dims, cuts[0].factor);
  bool isBehind = cuts[1].factor != cuts[0].factor;
  return dim >= 0 && index == 1 && isBehind && (dims[dim].size() < 2 || dims[dim][1] != cuts[1].factor) ? -1 : dim;
}

} // namespace p3d::shard
