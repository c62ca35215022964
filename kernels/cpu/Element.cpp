// Conversions between f32 and the 16-bit floating types, in loops that vectorise.
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Vector.h"
#include <cstdio>
#include <cstdlib>

namespace p3d {

void refuseElementType(const char *kernel, int32_t dtype) {
  std::fprintf(stderr, "p3d kernels: %s has no form for element type %d\n", kernel, dtype);
  std::abort();
}

int64_t elementSize(int32_t dtype) {
  if (dtype == P3D_F32)
    return 4;
  if (dtype == P3D_BF16 || dtype == P3D_F16)
    return 2;
  refuseElementType("a floating-point kernel", dtype);
}

P3D_VECTOR_CLONES static void widenBf16(const uint16_t *src, float *dst, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    dst[i] = fromBits(static_cast<uint32_t>(src[i]) << 16);
}

P3D_VECTOR_CLONES static void narrowBf16(const float *src, uint16_t *dst, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = toBits(src[i]);
    uint32_t nearestEven = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t quietNan = (bits >> 16) | 0x40u; // rounding could carry a NaN into an infinity
    bool isNan = (bits & 0x7fffffffu) > 0x7f800000u;
    dst[i] = static_cast<uint16_t>(isNan ? quietNan : nearestEven);
  }
}

P3D_VECTOR_CLONES static void widenF16(const _Float16 *src, float *dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dst[i] = static_cast<float>(src[i]);
}

P3D_VECTOR_CLONES static void narrowF16(const float *src, _Float16 *dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dst[i] = static_cast<_Float16>(src[i]);
}

void widen(int32_t dtype, const void *src, float *dst, int64_t count) {
  if (dtype == P3D_F32)
    std::memcpy(dst, src, count * sizeof(float));
  else if (dtype == P3D_BF16)
    widenBf16(static_cast<const uint16_t *>(src), dst, count);
  else if (dtype == P3D_F16)
    widenF16(static_cast<const _Float16 *>(src), dst, count);
  else
    refuseElementType("widen", dtype);
}

void narrow(int32_t dtype, const float *src, void *dst, int64_t count) {
  if (dtype == P3D_F32)
    std::memcpy(dst, src, count * sizeof(float));
  else if (dtype == P3D_BF16)
    narrowBf16(src, static_cast<uint16_t *>(dst), count);
  else if (dtype == P3D_F16)
    narrowF16(src, static_cast<_Float16 *>(dst), count);
  else
    refuseElementType("narrow", dtype);
}

} // namespace p3d
