// How far a kernel may be from its double-precision reference on the same (rounded) inputs, per element type.
#pragma once
#include "runtime/include/p3d/runtime.h"

namespace p3dtest {

/// |got - want| <= relative * |want| + ofLargest * max|want|: one rounding of the result, and f32 sums before it.
struct Tolerance {
  double relative, ofLargest;
};

inline Tolerance toleranceOf(int32_t dtype) {
  if (dtype == P3D_BF16)
    return {1.0 / 256, 3e-6}; // half a unit in the last of 8 bits is 2^-9
  if (dtype == P3D_F16)
    return {1.0 / 2048, 3e-6};
  return {2e-6, 2e-6};
}

/// Of attention: where tensor cores make the second product, its operands (probabilities and their gradients) are
/// rounded to the element type, and terms that cancel leave the errors of the largest.
inline Tolerance attentionTolerance(int32_t dtype) {
  Tolerance tolerance = toleranceOf(dtype);
#ifdef P3D_TEST_CUDA
  if (dtype != P3D_F32)
    tolerance.ofLargest = tolerance.relative / 2;
#endif
  return tolerance;
}

} // namespace p3dtest
