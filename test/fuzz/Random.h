// Seeded choices, the same on every platform.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <cassert>
#include <random>

namespace p3d::fuzz {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// In [0, n), n > 0.
  int64_t below(int64_t n) { return engine() % uint64_t(n); }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  double real(double low, double high) { return low + (high - low) * double(engine() >> 11) * 0x1p-53; }
  bool chance(double probability) { return real(0, 1) < probability; }
  template <typename T> T pick(std::initializer_list<T> values) { return values.begin()[below(values.size())]; }
  template <typename Range> auto &pick(Range &&range) { return range[below(range.size())]; }
  template <typename Range> void shuffle(Range &range) {
    for (size_t i = range.size(); i > 1; --i)
      std::swap(range[i - 1], range[below(i)]);
  }

private:
  std::mt19937_64 engine;
};

} // namespace p3d::fuzz
