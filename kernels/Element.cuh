// Element types of the CUDA kernels. Memory holds f32, bf16 or f16; all arithmetic is f32 and a result is rounded once.
// Memory moves in chunks of 16 bytes (Chunk), the widest access of a thread.
#pragma once
#include "kernels/Device.cuh"

namespace p3d {

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

// ---- One element ---------------------------------------------------------------------------------------------------

P3D_DEVICE float toFloat(float value) { return value; }
P3D_DEVICE float toFloat(Bf16 value) { return fromBits(static_cast<uint32_t>(value.bits) << 16); }

#ifdef P3D_PORTABLE
P3D_DEVICE float toFloat(F16 value) {
  uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16, magnitude = value.bits & 0x7fffu;
  if (magnitude >= 0x7c00u) // infinity and NaN
    return fromBits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // The exponent is moved by a product with 2^112, which also makes subnormals normal.
  return fromBits(sign | toBits(fromBits(magnitude << 13) * 0x1p112f));
}
P3D_DEVICE uint16_t roundToBf16(float value) {
  uint32_t bits = toBits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
P3D_DEVICE uint16_t roundToF16(float value) {
  uint32_t sign = toBits(value) >> 16 & 0x8000u, magnitude = toBits(value) & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return 0x7fff;
  if (magnitude >= 0x477ff000u) // rounds to 2^16 or more
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) // below 2^-14: adding 1/2 leaves a multiple of 2^-24 in the low bits
    return static_cast<uint16_t>(sign | (toBits(fromBits(magnitude) + 0.5f) - 0x3f000000u));
  uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}
#else
P3D_DEVICE float toFloat(F16 value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
P3D_DEVICE uint16_t roundToBf16(float value) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
P3D_DEVICE uint16_t roundToF16(float value) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif

/// value rounded to nearest even.
template <typename T> P3D_DEVICE T fromFloat(float value);
template <> P3D_DEVICE float fromFloat<float>(float value) { return value; }
template <> P3D_DEVICE Bf16 fromFloat<Bf16>(float value) { return {roundToBf16(value)}; }
template <> P3D_DEVICE F16 fromFloat<F16>(float value) { return {roundToF16(value)}; }

/// Two 16-bit elements in a register, the first in the low half.
template <typename T> P3D_DEVICE uint32_t packPair(float low, float high) {
  return static_cast<uint32_t>(fromFloat<T>(high).bits) << 16 | fromFloat<T>(low).bits;
}
#ifndef P3D_PORTABLE
template <> P3D_DEVICE uint32_t packPair<Bf16>(float low, float high) {
  uint32_t pair; // the first source operand goes to the upper half
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
template <> P3D_DEVICE uint32_t packPair<F16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
#endif

// ---- Sixteen bytes
// ---------------------------------------------------------------------------------------------------

struct alignas(16) Chunk {
  uint32_t words[4];
};

/// Loads or stores 16 bytes at an aligned place in one access; nvcc does so for its own vector types only.
#ifdef P3D_PORTABLE
P3D_DEVICE Chunk loadBytes(const void *from) { return *static_cast<const Chunk *>(from); }
P3D_DEVICE void storeBytes(void *to, const Chunk &chunk) { *static_cast<Chunk *>(to) = chunk; }
#else
P3D_DEVICE Chunk loadBytes(const void *from) {
  uint4 bytes = *static_cast<const uint4 *>(from);
  return {{bytes.x, bytes.y, bytes.z, bytes.w}};
}
P3D_DEVICE void storeBytes(void *to, const Chunk &chunk) {
  *static_cast<uint4 *>(to) = make_uint4(chunk.words[0], chunk.words[1], chunk.words[2], chunk.words[3]);
}
#endif

/// Elements of T in a chunk.
template <typename T> constexpr int chunkSize = 16 / sizeof(T);

P3D_DEVICE bool isAligned(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

P3D_DEVICE void unpack(const Chunk &chunk, float (&values)[4], float) {
  for (int e = 0; e < 4; ++e)
    values[e] = fromBits(chunk.words[e]);
}
template <typename T> P3D_DEVICE void unpack(const Chunk &chunk, float (&values)[8], T) {
  for (int e = 0; e < 4; ++e) {
    values[2 * e] = toFloat(T{static_cast<uint16_t>(chunk.words[e])});
    values[2 * e + 1] = toFloat(T{static_cast<uint16_t>(chunk.words[e] >> 16)});
  }
}
P3D_DEVICE Chunk pack(const float (&values)[4], float) {
  return {{toBits(values[0]), toBits(values[1]), toBits(values[2]), toBits(values[3])}};
}
template <typename T> P3D_DEVICE Chunk pack(const float (&values)[8], T) {
  return {{packPair<T>(values[0], values[1]), packPair<T>(values[2], values[3]), packPair<T>(values[4], values[5]),
           packPair<T>(values[6], values[7])}};
}

/// Loads the first `count` (at most a chunk) elements at `from` as f32, the rest are 0. `whole` says that the place is
/// aligned and count a full chunk: one access then.
template <typename T> P3D_DEVICE void loadChunk(const T *from, int count, bool whole, float (&values)[chunkSize<T>]) {
  if (whole) {
    unpack(loadBytes(from), values, T());
    return;
  }
  P3D_UNROLL
  for (int e = 0; e < chunkSize<T>; ++e)
    values[e] = e < count ? toFloat(from[e]) : 0.f;
}
/// Stores the first `count` values.
template <typename T> P3D_DEVICE void storeChunk(T *to, int count, bool whole, const float (&values)[chunkSize<T>]) {
  if (whole) {
    storeBytes(to, pack(values, T()));
    return;
  }
  P3D_UNROLL
  for (int e = 0; e < chunkSize<T>; ++e)
    if (e < count)
      to[e] = fromFloat<T>(values[e]);
}

/// The same for n elements, a whole number of chunks: those below `count`.
template <typename T, int n> P3D_DEVICE void loadRange(const T *from, int count, float (&values)[n]) {
  static_assert(n % chunkSize<T> == 0, "whole chunks");
  bool whole = count >= n && isAligned(from);
  P3D_UNROLL
  for (int first = 0; first < n; first += chunkSize<T>) {
    float part[chunkSize<T>];
    loadChunk(from + first, count - first, whole, part);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      values[first + e] = part[e];
  }
}
template <typename T, int n> P3D_DEVICE void storeRange(T *to, int count, const float (&values)[n]) {
  bool whole = count >= n && isAligned(to);
  P3D_UNROLL
  for (int first = 0; first < n; first += chunkSize<T>) {
    float part[chunkSize<T>];
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      part[e] = values[first + e];
    storeChunk(to + first, count - first, whole, part);
  }
}

/// A parameter that may be f32 beside 16-bit tensors, or absent.
template <typename T> struct Parameter {
  const void *data;
  int32_t isF32;
  float absent;

  /// Elements [col, col + count) as f32.
  P3D_DEVICE void load(int col, int count, float (&values)[chunkSize<T>]) const {
    if (!data) {
      P3D_UNROLL
      for (int e = 0; e < chunkSize<T>; ++e)
        values[e] = absent;
    } else if (isF32) {
      loadRange(static_cast<const float *>(data) + col, count, values);
    } else {
      loadRange(static_cast<const T *>(data) + col, count, values);
    }
  }
};

} // namespace p3d

/// Calls macro(suffix, type) for every floating element type.
#define P3D_FOR_FLOAT_TYPES(macro) macro(f32, float) macro(bf16, p3d::Bf16) macro(f16, p3d::F16)
