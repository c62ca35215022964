// How far a training step may be from its meaning: the one place. Plain C++, for the tests too.
#pragma once

namespace p3d {

/// Largest relative errors of what is computed in the narrowest float type of a program: of a scalar, of one gradient, of all gradients together. A
/// tensor's error is relative to its norm.
struct Tolerances {
  double scalar, tensor, allGradients;
};

inline constexpr Tolerances kF32Tolerances{1e-6, 1e-5, 1e-5};
inline constexpr Tolerances kBf16Tolerances{1e-3, 1e-1, 3e-2};
/// Three more bits.
inline constexpr Tolerances kF16Tolerances{1.3e-4, 1.3e-2, 4e-3};

} // namespace p3d
