// Element types: one table of names and sizes, and the conversions of the
// 16-bit floats.
#pragma once
#include "runtime/include/p3d/runtime.h"
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace p3d {

struct DTypeInfo {
  p3d_dtype dtype;
  const char *name;     ///< as programs and manifests write it
  const char *fileName; ///< as safetensors writes it
  int64_t bytes;
  bool isFloat;
};

/// The row of `dtype`.
const DTypeInfo &info(p3d_dtype dtype);
std::optional<p3d_dtype> parseDType(std::string_view name);
std::optional<p3d_dtype> parseFileDType(std::string_view name);

inline float fromBF16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// Rounds to nearest, ties to even; a NaN stays a NaN.
inline uint16_t toBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

float fromF16(uint16_t bits);
/// Rounds to nearest, ties to even; overflow gives infinity.
uint16_t toF16(float value);

/// Converts `count` floats of any float type to f64 and back; used where speed
/// does not matter.
double loadFloat(p3d_dtype dtype, const void *data, int64_t index);
void storeFloat(p3d_dtype dtype, void *data, int64_t index, double value);

} // namespace p3d
