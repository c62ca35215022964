// How the CPU kernels are vectorised: plain loops under `#pragma omp simd`, in functions that GCC clones for each
// vector width and picks from when the program is loaded (P3D_VECTOR_CLONES). Nothing here depends on the build
// machine, and a sum has one fixed order per vector width, so that results are the same on every run.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>

#define P3D_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GNUC__) && !defined(P3D_NO_VECTOR_CLONES)
#define P3D_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define P3D_VECTOR_CLONES
#endif

namespace p3d {

constexpr float negativeInfinity = -std::numeric_limits<float>::infinity();

/// The f32 with these bits, and back.
P3D_INLINE float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
P3D_INLINE uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// exp(x) to 1e-7 relative, branch-free so that a loop over it vectorises. exp(-inf) = 0, exp(nan) = nan; beyond the
/// range of f32 it gives 0 or inf, and subnormal results between. Cody-Waite reduction and the polynomial of Cephes.
P3D_INLINE float expApproximate(float x) {
  x = x < -104.f ? -104.f : x;
  x = x > 89.f ? 89.f : x;
  const float roundToInteger = 12582912.f; // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  float n = (x * 1.44269504088896341f + roundToInteger) - roundToInteger;
  float r = x - n * 0.693145751953125f;
  r = r - n * 1.42860682030941723e-6f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.f;
  // 2^n in two factors: one alone cannot hold the exponents at the ends of the range.
  int32_t whole = static_cast<int32_t>(n), half = whole >> 1;
  float low = fromBits(static_cast<uint32_t>(half + 127) << 23);
  float high = fromBits(static_cast<uint32_t>(whole - half + 127) << 23);
  return p * low * high;
}

} // namespace p3d
