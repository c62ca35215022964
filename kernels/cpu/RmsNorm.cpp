// Root-mean-square normalisation (Zhang, Sennrich 2019), forward and backward, one row at a time.
#include "kernels/Kernels.h"
#include "kernels/cpu/NormParameters.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"
#include <cmath>

using namespace p3d;

P3D_VECTOR_CLONES static float normalizeRow(const float *x, const float *scale, float *y, int64_t cols, float epsilon) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t c = 0; c < cols; ++c)
    squares += x[c] * x[c];
  float rstd = 1.f / std::sqrt(squares / static_cast<float>(cols) + epsilon);
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c)
    y[c] = x[c] * rstd * scale[c];
  return rstd;
}

void p3d_rms_norm(int32_t dtype, int32_t paramDtype, const void *x, const void *scale, void *y, float *rstd,
                  int64_t rows, int64_t cols, float epsilon) {
  NormParameter scales(paramDtype, scale, cols, 1.f);
  parallelFor(rows, grainOf(cols), [&](int64_t begin, int64_t end) {
    RowReader input(dtype, x, cols);
    RowWriter output(dtype, y, cols);
    for (int64_t r = begin; r < end; ++r) {
      rstd[r] = normalizeRow(input.read(r * cols, cols), scales.data(), output.row(r * cols), cols, epsilon);
      output.commit(r * cols, cols);
    }
  });
}

// With n = x * rstd and g = dy * scale: dx = rstd * (g - n * average(g * n)).
P3D_VECTOR_CLONES static void rowGrad(const float *dy, const float *x, const float *scale, float rstd, float *dx,
                                      float *dscale, int64_t cols) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t c = 0; c < cols; ++c) {
    float normalized = x[c] * rstd;
    dot += dy[c] * scale[c] * normalized;
    dscale[c] += dy[c] * normalized;
  }
  dot /= static_cast<float>(cols);
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c)
    dx[c] = rstd * (dy[c] * scale[c] - x[c] * rstd * dot);
}

void p3d_rms_norm_grad(int32_t dtype, int32_t paramDtype, const void *dy, const void *x, const void *scale,
                       const float *rstd, void *dx, void *dscale, int64_t rows, int64_t cols) {
  NormParameter scales(paramDtype, scale, cols, 1.f);
  NormParameterGrad scaleGrad(paramDtype, dscale, rows, cols);
  forRowBlocks(rows, [&](int64_t block, int64_t begin, int64_t end) {
    RowReader upstream(dtype, dy, cols), input(dtype, x, cols);
    RowWriter output(dtype, dx, cols);
    float *scaleSums = scaleGrad.sumsOf(block);
    for (int64_t r = begin; r < end; ++r) {
      rowGrad(upstream.read(r * cols, cols), input.read(r * cols, cols), scales.data(), rstd[r], output.row(r * cols),
              scaleSums, cols);
      output.commit(r * cols, cols);
    }
  });
  scaleGrad.finish();
}
