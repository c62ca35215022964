// How long an activation lives: what decides how many slots it needs.
#pragma once

#include "dialects/Pipe/PipeOps.h"

namespace p3d::pipe {

/// From the forward task of a microbatch to its last task, or with a split backward pass only a part of that.
enum class Lifetime { Whole, UntilBackward, FromBackward };

// On an activation that no task of weight gradients reads; on a stage, for each chunk the number of slots for these.
inline constexpr llvm::StringLiteral kUntilBackwardAttr = "pipe.until_backward";
inline constexpr llvm::StringLiteral kBackwardSlotsAttr = "pipe.backward_slots";

inline Lifetime lifetimeOf(mlir::Operation *activation) {
  return activation->hasAttr(kUntilBackwardAttr)  ? Lifetime::UntilBackward
         : activation->hasAttr(kFromBackwardAttr) ? Lifetime::FromBackward
                                                  : Lifetime::Whole;
}

} // namespace p3d::pipe
