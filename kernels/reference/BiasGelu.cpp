// gelu(x + bias) in its exact and its tanh form, and the gradient.
#include "kernels/reference/Reference.h"
#include <cmath>

static double gelu(double x, bool isExact) {
  if (isExact)
    return x * 0.5 * (1 + std::erf(x / std::sqrt(2)));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double slopeOfGelu(double x, bool isExact) {
  if (isExact)
    return 0.5 * (1 + std::erf(x / std::sqrt(2))) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
  double a = std::sqrt(2 / M_PI), t = std::tanh(a * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * a * (1 + 3 * 0.044715 * x * x);
}

void reference::biasGelu(const double *x, const double *bias, double *y, int64_t rows, int64_t cols, bool isExact) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      y[r * cols + c] = gelu(x[r * cols + c] + bias[c], isExact);
}

void reference::biasGeluGrad(const double *dy, const double *x, const double *bias, double *dx, double *dbias,
                             int64_t rows, int64_t cols, bool isExact) {
  for (int64_t c = 0; c < cols; ++c) {
    dbias[c] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      dx[r * cols + c] = dy[r * cols + c] * slopeOfGelu(x[r * cols + c] + bias[c], isExact);
      dbias[c] += dx[r * cols + c];
    }
  }
}
