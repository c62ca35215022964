// Which forward values a backward block is given, and which it computes again.
#pragma once

#include "passes/Autodiff/Activity.h"
#include "llvm/ADT/SetVector.h"

namespace p3d {

enum class Recompute {
  None,      ///< keep operands of contractions, inputs of named ops and statistics; compute the rest again from them
  Selective, ///< attention, norms, softmax and rope are computed again as well, and nothing is kept that cheaper ops give
  Full       ///< keep the arguments alone
};

/// The values to keep, in the order of their operations, among those that the backward operations of `body` use. All others that they use follow from these and from
/// arguments by operations that are cheap under `policy`.
llvm::SetVector<mlir::Value> chooseSavedValues(mlir::Block &body, const Activity &activity, Recompute policy);

} // namespace p3d
