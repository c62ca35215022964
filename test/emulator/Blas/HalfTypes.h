// float16 and bfloat16 as their bits, rounded to nearest even.
#pragma once
#include <cstdint>
#include <cstring>

namespace p3d::emulator {

inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

inline float fromBf16(uint16_t bits) { return floatOf(uint32_t(bits) << 16); }
inline uint16_t toBf16(float value) {
  uint32_t bits = bitsOf(value);
  return value != value ? 0x7fff : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

inline float fromHalf(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00) // infinity, NaN
    return floatOf(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  // The exponent is moved by a multiplication, which also makes subnormals normal.
  return floatOf(sign | bitsOf(floatOf(rest << 13) * 0x1p112f));
}
inline uint16_t toHalf(float value) {
  uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000)
    return sign | 0x7fff;
  if (rest >= 0x477ff000) // beyond the largest number, rounded
    return sign | 0x7c00;
  if (rest < 0x38800000) // subnormal: the addition rounds to the last place of 2^-24
    return sign | (bitsOf(floatOf(rest) + 0.5f) - bitsOf(0.5f));
  return sign | (rest - 0x38000000 + 0xfff + ((rest >> 13) & 1)) >> 13;
}

} // namespace p3d::emulator
