// An einsum's plan, made ready to run: loops that can be part of the matrix product are, the rest are split into those
// that walk over C and those that add to it.
#pragma once
#include "kernels/Kernels.h"

namespace p3d {

/// Up to eight nested loops and the element offsets that each step adds to a, b and c.
struct LoopNest {
  struct Loop {
    int64_t extent, a, b, c;
  };
  struct Offsets {
    int64_t a = 0, b = 0, c = 0;
  };

  int32_t count = 0;
  Loop loops[8];

  void add(Loop loop) { loops[count++] = loop; }
  void remove(int32_t index);
  bool isEmpty() const;

  /// Calls body(offsets) for every index, the first loop outermost.
  template <typename Body> void forEach(Body body) const { walk(0, Offsets(), body); }
  /// How often forEach would call, and with what at call `index`.
  int64_t size() const;
  Offsets at(int64_t index) const;

private:
  template <typename Body> void walk(int32_t depth, Offsets at, Body &body) const {
    if (depth == count)
      return body(at);
    const Loop &loop = loops[depth];
    for (int64_t i = 0; i < loop.extent; ++i) {
      walk(depth + 1, at, body);
      at = {at.a + loop.a, at.b + loop.b, at.c + loop.c};
    }
  }
};

struct EinsumLoops {
  LoopNest kept, summed; // loops over C; loops that add to C
  int64_t m, n, k;
  int64_t aM, aK, bK, bN, cM, cN;
};

/// The same sums with as few loops around the matrix product as the strides allow.
EinsumLoops absorbLoops(const p3d_einsum_plan &plan);

} // namespace p3d
