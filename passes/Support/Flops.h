// The arithmetic of graph operations, for costs and reports.
#pragma once

#include "dialects/Graph/GraphOps.h"

namespace p3d {

/// On a product or an attention of a backward block that repeats one of the forward block.
inline constexpr llvm::StringLiteral kRecomputedAttr = "graph.recomputed";

/// Floating-point operations by what they are for. A multiply-add counts 2.
struct Flops {
  int64_t contractions = 0;  ///< einsums
  int64_t attention = 0;     ///< the two products of attention, causal ones counted half; four in the gradient
  int64_t fullAttention = 0; ///< the same, causal ones counted in full
  int64_t elements = 0;      ///< one for each element of the result of any other op
  int64_t recomputed = 0;    ///< of contractions and attention, those that a backward block repeats from its forward block
  int64_t fullRecomputed = 0; ///< the same of contractions and full attention

  /// What the model asks for, attention in full or causal ones counted half.
  int64_t ofModel(bool inFull) const {
    return contractions + (inFull ? fullAttention - fullRecomputed : attention - recomputed);
  }
  /// What is executed.
  int64_t total() const { return contractions + attention + elements; }
  Flops &operator+=(const Flops &other);
  Flops operator*(int64_t times) const;
};

/// Of `op` on the shapes that it has; a call counts as its block.
Flops countFlops(mlir::Operation *op);
/// The sum over `body`.
Flops countFlops(mlir::Block &body);

} // namespace p3d
