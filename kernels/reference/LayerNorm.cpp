// Layer normalisation over rows, and its gradient.
#include "kernels/reference/Reference.h"
#include <cmath>

void reference::layerNorm(const double *x, const double *scale, const double *bias, double *y, double *mean,
                          double *rstd, int64_t rows, int64_t cols, double epsilon) {
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < cols; ++c)
      sum += x[c];
    mean[r] = sum / cols;
    for (int64_t c = 0; c < cols; ++c)
      squares += (x[c] - mean[r]) * (x[c] - mean[r]);
    rstd[r] = 1 / std::sqrt(squares / cols + epsilon);
    for (int64_t c = 0; c < cols; ++c)
      y[c] = (x[c] - mean[r]) * rstd[r] * scale[c] + bias[c];
  }
}

void reference::layerNormGrad(const double *dy, const double *x, const double *scale, const double *mean,
                              const double *rstd, double *dx, double *dscale, double *dbias, int64_t rows,
                              int64_t cols) {
  for (int64_t c = 0; c < cols; ++c)
    dscale[c] = dbias[c] = 0;
  for (int64_t r = 0; r < rows; ++r, x += cols, dy += cols, dx += cols) {
    double sum = 0, dot = 0;
    for (int64_t c = 0; c < cols; ++c) {
      double normalized = (x[c] - mean[r]) * rstd[r];
      sum += dy[c] * scale[c];
      dot += dy[c] * scale[c] * normalized;
      dscale[c] += dy[c] * normalized;
      dbias[c] += dy[c];
    }
    for (int64_t c = 0; c < cols; ++c)
      dx[c] = rstd[r] * (dy[c] * scale[c] - sum / cols - (x[c] - mean[r]) * rstd[r] * dot / cols);
  }
}
