// Softmax over rows, and its gradient.
#include "kernels/reference/Reference.h"
#include <algorithm>
#include <cmath>
#include <limits>

void reference::softmax(const double *x, double *y, int64_t rows, int64_t cols) {
  const double negativeInfinity = -std::numeric_limits<double>::infinity();
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    double max = negativeInfinity, sum = 0;
    for (int64_t c = 0; c < cols; ++c)
      max = std::max(max, x[c]);
    for (int64_t c = 0; c < cols; ++c)
      sum += y[c] = max == negativeInfinity ? 0 : std::exp(x[c] - max);
    for (int64_t c = 0; c < cols; ++c)
      y[c] = sum == 0 ? 0 : y[c] / sum;
  }
}

void reference::softmaxGrad(const double *y, const double *dy, double *dx, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r, y += cols, dy += cols, dx += cols) {
    double dot = 0;
    for (int64_t c = 0; c < cols; ++c)
      dot += y[c] * dy[c];
    for (int64_t c = 0; c < cols; ++c)
      dx[c] = y[c] * (dy[c] - dot);
  }
}
