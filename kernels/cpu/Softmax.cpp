// Softmax over rows and its gradient. A row that is -inf everywhere gives zeros, not NaN.
#include "kernels/Kernels.h"
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"

using namespace p3d;

P3D_VECTOR_CLONES static void softmaxRow(const float *x, float *y, int64_t cols) {
  float max = negativeInfinity, sum = 0;
#pragma omp simd reduction(max : max)
  for (int64_t c = 0; c < cols; ++c)
    max = x[c] > max ? x[c] : max;
  float shift = max == negativeInfinity ? 0.f : max;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < cols; ++c) {
    float e = expApproximate(x[c] - shift);
    y[c] = e;
    sum += e;
  }
  float inverse = sum == 0.f ? 0.f : 1.f / sum;
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c)
    y[c] *= inverse;
}

void p3d_softmax(int32_t dtype, const void *x, void *y, int64_t rows, int64_t cols) {
  parallelFor(rows, grainOf(cols), [&](int64_t begin, int64_t end) {
    RowReader input(dtype, x, cols);
    RowWriter output(dtype, y, cols);
    for (int64_t r = begin; r < end; ++r) {
      softmaxRow(input.read(r * cols, cols), output.row(r * cols), cols);
      output.commit(r * cols, cols);
    }
  });
}

P3D_VECTOR_CLONES static void softmaxRowGrad(const float *y, const float *dy, float *dx, int64_t cols) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t c = 0; c < cols; ++c)
    dot += y[c] * dy[c];
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c)
    dx[c] = y[c] * (dy[c] - dot);
}

void p3d_softmax_grad(int32_t dtype, const void *y, const void *dy, void *dx, int64_t rows, int64_t cols) {
  parallelFor(rows, grainOf(cols), [&](int64_t begin, int64_t end) {
    RowReader result(dtype, y, cols), upstream(dtype, dy, cols);
    RowWriter output(dtype, dx, cols);
    for (int64_t r = begin; r < end; ++r) {
      softmaxRowGrad(result.read(r * cols, cols), upstream.read(r * cols, cols), output.row(r * cols), cols);
      output.commit(r * cols, cols);
    }
  });
}
