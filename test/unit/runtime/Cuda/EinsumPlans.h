// Plans of einsums, for tests.
#pragma once
#include "kernels/Kernels.h"

namespace p3d {

/// c[m,n] = a[m,k] b[k,n], dense and row-major.
inline p3d_einsum_plan dense(int64_t m, int64_t n, int64_t k) {
  p3d_einsum_plan plan{};
  plan.m = m, plan.n = n, plan.k = k;
  plan.aM = k, plan.aK = 1, plan.bK = n, plan.bN = 1, plan.cM = n, plan.cN = 1;
  return plan;
}

/// One more loop, with its steps in a, b and c.
inline void addLoop(p3d_einsum_plan &plan, int64_t extent, int64_t a, int64_t b, int64_t c) {
  int32_t at = plan.loopCount++;
  plan.extent[at] = extent, plan.aLoop[at] = a, plan.bLoop[at] = b, plan.cLoop[at] = c;
}

} // namespace p3d
