// A stable sort of rows.
#include "kernels/reference/Reference.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

void reference::sort(const double *x, double *values, int32_t *indices, int64_t rows, int64_t cols, bool descending) {
  auto isLess = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }; // NaN is the largest
  for (int64_t r = 0; r < rows; ++r, x += cols, values += cols, indices += cols) {
    std::iota(indices, indices + cols, 0);
    std::stable_sort(indices, indices + cols,
                     [&](int32_t a, int32_t b) { return descending ? isLess(x[b], x[a]) : isLess(x[a], x[b]); });
    for (int64_t c = 0; c < cols; ++c)
      values[c] = x[indices[c]];
  }
}
