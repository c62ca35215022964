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

NormalStream::NormalStream(uint64_t seed, const std::string &name)
    : name(hashName(name)), key{uint32_t(seed), uint32_t(seed >> 32)} {}

/// The bits of elements 4 * block to 4 * block + 3.
static std::array<uint32_t, 4> bitsOf(int64_t block, uint64_t name,
                                      std::array<uint32_t, 2> key) {
  return philox({uint32_t(block), uint32_t(uint64_t(block) >> 32),
                 uint32_t(name), uint32_t(name >> 32)},
                key);
}

UniformStream::UniformStream(uint64_t seed, const std::string &name)
    : name(hashName(name)), key{uint32_t(seed), uint32_t(seed >> 32)} {}

double UniformStream::at(int64_t index) const {
  return (bitsOf(index / 4, name, key)[size_t(index % 4)] + 0.5) * 0x1p-32;
}

double NormalStream::at(int64_t index) {
  if (index / 4 != block) {
    block = index / 4;
    std::array<uint32_t, 4> bits = bitsOf(block, name, key);
    for (int pair = 0; pair < 2; ++pair) {
      // In (0, 1): the logarithm stays finite.
      double u = (bits[2 * pair] + 0.5) * 0x1p-32;
      double angle = 2 * M_PI * (bits[2 * pair + 1] + 0.5) * 0x1p-32;
      double radius = std::sqrt(-2 * std::log(u));
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
