// Layer normalisation (Ba, Kiros, Hinton 2016), forward and backward, one row at a time: a row is read once from memory
// and stays in the cache for the passes over it.
#include "kernels/Kernels.h"
#include "kernels/cpu/NormParameters.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"
#include <cmath>

using namespace p3d;

namespace {
struct RowStatistics {
  float mean, rstd;
};
} // namespace

// Two passes: the difference of large squares would lose the variance of a row with a large mean.
P3D_VECTOR_CLONES static RowStatistics rowStatistics(const float *x, int64_t cols, float epsilon) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < cols; ++c)
    sum += x[c];
  float mean = sum / static_cast<float>(cols);
#pragma omp simd reduction(+ : squares)
  for (int64_t c = 0; c < cols; ++c)
    squares += (x[c] - mean) * (x[c] - mean);
  return {mean, 1.f / std::sqrt(squares / static_cast<float>(cols) + epsilon)};
}

P3D_VECTOR_CLONES static void normalizeRow(const float *x, const float *scale, const float *bias, float *y,
                                           int64_t cols, float mean, float rstd) {
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c)
    y[c] = (x[c] - mean) * rstd * scale[c] + bias[c];
}

void p3d_layer_norm(int32_t dtype, int32_t paramDtype, const void *x, const void *scale, const void *bias, void *y,
                    float *mean, float *rstd, int64_t rows, int64_t cols, float epsilon) {
  NormParameter scales(paramDtype, scale, cols, 1.f), biases(paramDtype, bias, cols, 0.f);
  parallelFor(rows, grainOf(cols), [&](int64_t begin, int64_t end) {
    RowReader input(dtype, x, cols);
    RowWriter output(dtype, y, cols);
    for (int64_t r = begin; r < end; ++r) {
      const float *row = input.read(r * cols, cols);
      RowStatistics statistics = rowStatistics(row, cols, epsilon);
      normalizeRow(row, scales.data(), biases.data(), output.row(r * cols), cols, statistics.mean, statistics.rstd);
      output.commit(r * cols, cols);
      mean[r] = statistics.mean;
      rstd[r] = statistics.rstd;
    }
  });
}

// With n = (x - mean) * rstd and g = dy * scale: dx = rstd * (g - average(g) - n * average(g * n)).
P3D_VECTOR_CLONES static void rowGrad(const float *dy, const float *x, const float *scale, float mean, float rstd,
                                      float *dx, float *dscale, float *dbias, int64_t cols) {
  float sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
  for (int64_t c = 0; c < cols; ++c) {
    float normalized = (x[c] - mean) * rstd, g = dy[c] * scale[c];
    sum += g;
    dot += g * normalized;
    dscale[c] += dy[c] * normalized;
    dbias[c] += dy[c];
  }
  sum /= static_cast<float>(cols);
  dot /= static_cast<float>(cols);
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c)
    dx[c] = rstd * (dy[c] * scale[c] - sum - (x[c] - mean) * rstd * dot);
}

void p3d_layer_norm_grad(int32_t dtype, int32_t paramDtype, const void *dy, const void *x, const void *scale,
                         const float *mean, const float *rstd, void *dx, void *dscale, void *dbias, int64_t rows,
                         int64_t cols) {
  NormParameter scales(paramDtype, scale, cols, 1.f);
  NormParameterGrad scaleGrad(paramDtype, dscale, rows, cols), biasGrad(paramDtype, dbias, rows, cols);
  forRowBlocks(rows, [&](int64_t block, int64_t begin, int64_t end) {
    RowReader upstream(dtype, dy, cols), input(dtype, x, cols);
    RowWriter output(dtype, dx, cols);
    float *scaleSums = scaleGrad.sumsOf(block), *biasSums = biasGrad.sumsOf(block);
    for (int64_t r = begin; r < end; ++r) {
      rowGrad(upstream.read(r * cols, cols), input.read(r * cols, cols), scales.data(), mean[r], rstd[r],
              output.row(r * cols), scaleSums, biasSums, cols);
      output.commit(r * cols, cols);
    }
  });
  scaleGrad.finish();
  biasGrad.finish();
}
