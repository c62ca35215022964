// The largest of each row: the front of a sort.
#include "kernels/reference/Reference.h"
#include <algorithm>
#include <vector>

void reference::topK(const double *x, double *values, int32_t *indices, int64_t rows, int64_t cols, int64_t k) {
  std::vector<double> sorted(cols);
  std::vector<int32_t> order(cols);
  for (int64_t r = 0; r < rows; ++r) {
    reference::sort(x + r * cols, sorted.data(), order.data(), 1, cols, /*descending=*/true);
    std::copy_n(sorted.begin(), k, values + r * k);
    std::copy_n(order.begin(), k, indices + r * k);
  }
}
