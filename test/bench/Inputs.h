// Inputs of the kernel benchmarks: tensors of any element type with values around 0.
#pragma once
#include "kernels/cpu/Element.h"
#include <random>
#include <vector>

namespace p3dbench {

inline std::vector<char> tensor(int32_t dtype, int64_t count, unsigned seed = 1) {
  std::minstd_rand generator(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(generator() % 20001) * 1e-4f - 1.f;
  std::vector<char> bytes(count * p3d::elementSize(dtype));
  p3d::narrow(dtype, values.data(), bytes.data(), count);
  return bytes;
}

inline std::vector<float> floats(int64_t count, unsigned seed = 1) {
  std::vector<char> bytes = tensor(P3D_F32, count, seed);
  const float *first = reinterpret_cast<const float *>(bytes.data());
  return {first, first + count};
}

} // namespace p3dbench
