// The gradient norm, clipping and the optimizer.
#pragma once
#include "runtime/Context.h"
#include "runtime/Train/RunOptions.h"

namespace p3d {

/// The norm of the whole gradient, the same bits on every rank of the group.
/// Each element counts once; sums are double, in the order of the ranks.
double gradientNorm(p3d_context &context);

/// One optimizer step with learning rate `learningRate`, gradients multiplied
/// by `gradientScale` first.
void updateParameters(p3d_context &context, const RunOptions &options,
                      int64_t step, double learningRate, double gradientScale);

} // namespace p3d
