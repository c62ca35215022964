// The table of element types and the conversions that are too long to inline.
#include "runtime/DType.h"
#include "runtime/Error.h"
#include <cmath>

namespace p3d {

static constexpr DTypeInfo table[] = {
    {P3D_F32, "f32", "F32", 4, true},    {P3D_BF16, "bf16", "BF16", 2, true},
    {P3D_F16, "f16", "F16", 2, true},    {P3D_F64, "f64", "F64", 8, true},
    {P3D_I32, "i32", "I32", 4, false},   {P3D_I64, "i64", "I64", 8, false},
    {P3D_UI32, "ui32", "U32", 4, false}, {P3D_UI64, "ui64", "U64", 8, false},
    {P3D_I1, "i1", "BOOL", 1, false},    {P3D_I8, "i8", "I8", 1, false},
    {P3D_UI8, "ui8", "U8", 1, false},    {P3D_I16, "i16", "I16", 2, false},
    {P3D_UI16, "ui16", "U16", 2, false},
};

const DTypeInfo &info(p3d_dtype dtype) {
  for (const DTypeInfo &row : table)
    if (row.dtype == dtype)
      return row;
  internalError("element type number {} is not one of runtime.h", int(dtype));
}

std::optional<p3d_dtype> parseDType(std::string_view name) {
  for (const DTypeInfo &row : table)
    if (name == row.name)
      return row.dtype;
  return std::nullopt;
}

std::optional<p3d_dtype> parseFileDType(std::string_view name) {
  for (const DTypeInfo &row : table)
    if (name == row.fileName)
      return row.dtype;
  return std::nullopt;
}

float fromF16(uint16_t bits) {
  int exponent = (bits >> 10) & 31;
  float mantissa = float(bits & 1023);
  float magnitude;
  if (exponent == 31)
    magnitude = mantissa == 0 ? INFINITY : NAN;
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, -24);
  else
    magnitude = std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t toF16(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  // 65520 is halfway between the largest finite value and the next step, and
  // ties go to even.
  if (magnitude >= 65520.0f)
    return sign | 0x7c00;
  if (magnitude < 6.103515625e-05f) // subnormal: multiples of 2^-24
    return sign | uint16_t(std::nearbyint(std::ldexp(magnitude, 24)));
  int exponent;
  std::frexp(magnitude, &exponent); // magnitude = f * 2^exponent, 0.5 <= f < 1
  int steps = int(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));
  // 1024 <= steps <= 2048; the carry of 2048 lands in the exponent field as it
  // should.
  return sign | uint16_t(((exponent + 14) << 10) + (steps - 1024));
}

double loadFloat(p3d_dtype dtype, const void *data, int64_t index) {
  if (dtype == P3D_F32)
    return static_cast<const float *>(data)[index];
  if (dtype == P3D_F64)
    return static_cast<const double *>(data)[index];
  uint16_t bits = static_cast<const uint16_t *>(data)[index];
  if (dtype == P3D_BF16)
    return fromBF16(bits);
  if (dtype == P3D_F16)
    return fromF16(bits);
  internalError("{} is not a float type", info(dtype).name);
}

void storeFloat(p3d_dtype dtype, void *data, int64_t index, double value) {
  if (dtype == P3D_F32)
    static_cast<float *>(data)[index] = float(value);
  else if (dtype == P3D_F64)
    static_cast<double *>(data)[index] = value;
  else if (dtype == P3D_BF16)
    static_cast<uint16_t *>(data)[index] = toBF16(float(value));
  else if (dtype == P3D_F16)
    static_cast<uint16_t *>(data)[index] = toF16(float(value));
  else
    internalError("{} is not a float type", info(dtype).name);
}

} // namespace p3d
