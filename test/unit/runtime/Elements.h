// What the tests of transports reduce and compare.
#pragma once
#include "runtime/DType.h"
#include "test/unit/runtime/World.h"
#include <cstring>

namespace p3d::test {

/// Element access for any type; values stay small, so that all types are exact.
inline double get(p3d_dtype dtype, const char *data, int64_t i) {
  int64_t bytes = info(dtype).bytes;
  if (info(dtype).isFloat)
    return loadFloat(dtype, data, i);
  int64_t value = 0;
  std::memcpy(&value, data + i * bytes, size_t(bytes));
  bool isSigned = dtype == P3D_I8 || dtype == P3D_I16 || dtype == P3D_I32;
  int shift = int(64 - 8 * bytes);
  return double(isSigned ? int64_t(uint64_t(value) << shift) >> shift : value);
}

inline void set(p3d_dtype dtype, char *data, int64_t i, double value) {
  if (info(dtype).isFloat)
    return storeFloat(dtype, data, i, value);
  int64_t number = int64_t(value), bytes = info(dtype).bytes;
  std::memcpy(data + i * bytes, &number, size_t(bytes));
}

/// Skewed, so that a wrong rank, order or position shows.
inline double valueOf(int rank, int64_t i) {
  return double((i * 7 + rank * 5 + i / 13) % 11 + 1);
}

inline double combine(p3d_reduce_kind kind, double a, double b) {
  switch (kind) {
  case P3D_SUM:
    return a + b;
  case P3D_MAX:
    return std::max(a, b);
  case P3D_MIN:
    return std::min(a, b);
  case P3D_PROD:
    return a * b;
  case P3D_AND:
    return double(int64_t(a) & int64_t(b));
  case P3D_OR:
    return double(int64_t(a) | int64_t(b));
  }
  return 0;
}

inline double reduced(p3d_reduce_kind kind, int size, int64_t i) {
  double value = valueOf(0, i);
  for (int rank = 1; rank < size; ++rank)
    value = combine(kind, value, valueOf(rank, i));
  return value;
}

inline void requireElement(double found, double expected, const char *what,
                    int64_t i) {
  if (found != expected)
    require(false, fmt::format("{}, element {}: {}, expected {}", what, i,
                               found, expected));
}

} // namespace p3d::test
