// How far a training step may be from its meaning: the one place. Plain C++, for the tests too.
#pragma once

namespace p3d {

/// Largest relative errors of what is computed in the narrowest float type of a program: of a scalar, of one gradient, of all gradients together. A
/// tensor's error is relative to its norm.
struct Tolerances {
  double scalar, tensor, allGradients;
};

inline constexpr Tolerances kF32Tolerances{1e-6, 1e-5, 1e-5};
/// For bf16 and f16.
inline constexpr Tolerances kNarrowTolerances{1e-3, 1e-1, 3e-2};

} // namespace p3d
