#include "runtime/Train/LossScale.h"
#include <algorithm>
#include <limits>

namespace p3d {

void LossScale::update(bool gradientIsFinite) {
  constexpr int64_t kGrowthInterval = 2000;
  constexpr double kMinimum = 1;
  if (!isDynamic)
    return;
  if (!gradientIsFinite) {
    value = std::max(value / 2, kMinimum);
    goodSteps = 0;
  } else if (++goodSteps == kGrowthInterval) {
    // Programs take it as f32.
    if (value <= std::numeric_limits<float>::max() / 2)
      value *= 2;
    goodSteps = 0;
  }
}

} // namespace p3d
