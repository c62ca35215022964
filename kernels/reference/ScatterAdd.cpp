// Adds rows by index.
#include "kernels/reference/Reference.h"
#include <algorithm>

void reference::scatterAdd(const double *updates, const int64_t *ids, double *x, int64_t b, int64_t o, int64_t n,
                           int64_t i, int64_t inner, int64_t start, bool accumulate) {
  if (!accumulate)
    std::fill_n(x, b * o * n * inner, 0.);
  for (int64_t batch = 0; batch < b; ++batch)
    for (int64_t outer = 0; outer < o; ++outer)
      for (int64_t at = 0; at < i; ++at)
        for (int64_t c = 0; c < inner; ++c) {
          int64_t id = ids[batch * i + at], slab = batch * o + outer;
          int64_t row = start < 0 ? std::clamp<int64_t>(id, 0, n - 1) : id - start;
          if (row >= 0 && row < n)
            x[(slab * n + row) * inner + c] += updates[(slab * i + at) * inner + c];
        }
}
