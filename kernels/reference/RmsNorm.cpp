// Root-mean-square normalisation over rows, and its gradient.
#include "kernels/reference/Reference.h"
#include <cmath>

void reference::rmsNorm(const double *x, const double *scale, double *y, double *rstd, int64_t rows, int64_t cols,
                        double epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    double squares = 0;
    for (int64_t c = 0; c < cols; ++c)
      squares += x[c] * x[c];
    rstd[r] = 1 / std::sqrt(squares / cols + epsilon);
    for (int64_t c = 0; c < cols; ++c)
      y[c] = x[c] * rstd[r] * scale[c];
  }
}

void reference::rmsNormGrad(const double *dy, const double *x, const double *scale, const double *rstd, double *dx,
                            double *dscale, int64_t rows, int64_t cols) {
  for (int64_t c = 0; c < cols; ++c)
    dscale[c] = 0;
  for (int64_t r = 0; r < rows; ++r, x += cols, dy += cols, dx += cols) {
    double dot = 0;
    for (int64_t c = 0; c < cols; ++c) {
      dot += dy[c] * scale[c] * x[c] * rstd[r];
      dscale[c] += dy[c] * x[c] * rstd[r];
    }
    for (int64_t c = 0; c < cols; ++c)
      dx[c] = rstd[r] * (dy[c] * scale[c] - x[c] * rstd[r] * dot / cols);
  }
}
