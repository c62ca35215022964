// A product of strided matrices inside loops, as the sum over every index of both.
#include "kernels/reference/Reference.h"

namespace {
struct Offsets {
  int64_t a, b, c;
};
} // namespace

static void product(const p3d_einsum_plan &p, const double *a, const double *b, double *c) {
  for (int64_t m = 0; m < p.m; ++m)
    for (int64_t n = 0; n < p.n; ++n)
      for (int64_t k = 0; k < p.k; ++k)
        c[m * p.cM + n * p.cN] += a[m * p.aM + k * p.aK] * b[k * p.bK + n * p.bN];
}

static void zero(const p3d_einsum_plan &p, double *c) {
  for (int64_t m = 0; m < p.m; ++m)
    for (int64_t n = 0; n < p.n; ++n)
      c[m * p.cM + n * p.cN] = 0;
}

template <typename Body>
static void forLoops(const p3d_einsum_plan &p, int32_t depth, Offsets at, bool onlyKept, const Body &body) {
  if (depth == p.loopCount)
    return body(at);
  int64_t extent = onlyKept && p.cLoop[depth] == 0 ? 1 : p.extent[depth];
  for (int64_t i = 0; i < extent; ++i)
    forLoops(p, depth + 1, {at.a + i * p.aLoop[depth], at.b + i * p.bLoop[depth], at.c + i * p.cLoop[depth]}, onlyKept,
             body);
}

void reference::einsum(const p3d_einsum_plan &plan, const double *a, const double *b, double *c, bool accumulate) {
  if (!accumulate)
    forLoops(plan, 0, {0, 0, 0}, /*onlyKept=*/true, [&](Offsets at) { zero(plan, c + at.c); });
  forLoops(plan, 0, {0, 0, 0}, /*onlyKept=*/false, [&](Offsets at) { product(plan, a + at.a, b + at.b, c + at.c); });
}
