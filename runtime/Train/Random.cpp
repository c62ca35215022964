// Philox and the Box-Muller transform.
#include "runtime/Train/Random.h"
#include <cmath>

namespace p3d {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * counter[0];
    uint64_t b = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint64_t hashName(const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

UniformStream::UniformStream(uint64_t seed, const std::string &name)
    : name(hashName(name)), key{uint32_t(seed), uint32_t(seed >> 32)} {}

std::array<double, 4> UniformStream::block(int64_t index) const {
  std::array<uint32_t, 4> bits =
      philox({uint32_t(index), uint32_t(uint64_t(index) >> 32), uint32_t(name),
              uint32_t(name >> 32)},
             key);
  std::array<double, 4> numbers;
  for (size_t i = 0; i < 4; ++i)
    numbers[i] = (bits[i] + 0.5) * 0x1p-32;
  return numbers;
}

double NormalStream::at(int64_t index) {
  if (index / 4 != block) {
    block = index / 4;
    std::array<double, 4> numbers = uniform.block(block);
    for (size_t pair = 0; pair < 2; ++pair) {
      // Never 0: the logarithm stays finite.
      double radius = std::sqrt(-2 * std::log(numbers[2 * pair]));
      double angle = 2 * M_PI * numbers[2 * pair + 1];
      values[2 * pair] = radius * std::cos(angle);
      values[2 * pair + 1] = radius * std::sin(angle);
    }
  }
  return values[index % 4];
}

std::array<uint32_t, 2> deriveKey(uint64_t seed, const std::string &name,
                                  int64_t step) {
  uint64_t hash = hashName(name);
  // The highest counter bit keeps these apart from the numbers of elements.
  std::array<uint32_t, 4> bits =
      philox({uint32_t(step), uint32_t(uint64_t(step) >> 32) | 0x80000000u,
              uint32_t(hash), uint32_t(hash >> 32)},
             {uint32_t(seed), uint32_t(seed >> 32)});
  return {bits[0], bits[1]};
}

} // namespace p3d
