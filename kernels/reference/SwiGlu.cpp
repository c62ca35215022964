// silu(gate) * up, and its gradient.
#include "kernels/reference/Reference.h"
#include <cmath>

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void reference::swiglu(const double *gate, const double *up, double *y, int64_t rows, int64_t cols, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) {
      double g = gate[r * stride + c];
      y[r * cols + c] = g * sigmoid(g) * up[r * stride + c];
    }
}

void reference::swigluGrad(const double *dy, const double *gate, const double *up, double *dgate, double *dup,
                           int64_t rows, int64_t cols, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) {
      double g = gate[r * stride + c], s = sigmoid(g), upstream = dy[r * cols + c];
      dgate[r * stride + c] = upstream * up[r * stride + c] * (s + g * s * (1 - s));
      dup[r * stride + c] = upstream * g * s;
    }
}
