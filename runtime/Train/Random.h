// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw
// 2011). A value is a pure function of its key and counter, so every mesh draws
// the same numbers for the same element.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace p3d {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

/// FNV-1a, to key generators by name.
uint64_t hashName(const std::string &name);

/// Numbers uniform in (0, 1) for the elements of a tensor.
class UniformStream {
public:
  UniformStream(uint64_t seed, const std::string &name);
  /// The number of element `index` of the whole tensor.
  double at(int64_t index) const { return block(index / 4)[size_t(index % 4)]; }
  /// The numbers of elements 4 * index to 4 * index + 3.
  std::array<double, 4> block(int64_t index) const;

private:
  uint64_t name;
  std::array<uint32_t, 2> key;
};

/// Standard normal numbers, made of uniform ones.
class NormalStream {
public:
  NormalStream(uint64_t seed, const std::string &name) : uniform(seed, name) {}
  double at(int64_t index);

private:
  UniformStream uniform;
  int64_t block = -1; ///< the four numbers held below
  double values[4];
};

/// The random key `name` of `step`: two words.
std::array<uint32_t, 2> deriveKey(uint64_t seed, const std::string &name,
                                  int64_t step);

} // namespace p3d
