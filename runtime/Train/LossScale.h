// The factor on the loss of a program that computes in f16, so that gradients
// are not rounded to zero: the rules of torch.amp.GradScaler.
#pragma once
#include <cstdint>

namespace p3d {

struct LossScale {
  double value = 65536;
  bool isDynamic = true;
  int64_t goodSteps = 0; ///< in a row at this value

  /// Behind a step: halves it, down to 1, where a gradient was not finite, and
  /// doubles it after 2000 steps where all were. All powers of two, it changes no
  /// bit of a gradient that is in range.
  void update(bool gradientIsFinite);
};

} // namespace p3d
