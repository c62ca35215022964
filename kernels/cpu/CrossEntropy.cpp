// Softmax-cross-entropy over logits whose columns are sharded: the two reductions over the shards (max, then the sum
// and the target's logit) are the caller's, so that no rank ever holds a row of the whole vocabulary (Megatron-LM).
#include "kernels/Kernels.h"
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"
#include <algorithm>

using namespace p3d;

/// Columns of this shard that exist: those at or beyond `valid` in all are padding.
static int64_t existingColumns(int64_t cols, int64_t start, int64_t valid) {
  return std::clamp<int64_t>(valid - start, 0, cols);
}

// What exponents are taken relative to: 0 for a row that is -inf everywhere, where -inf - -inf would be NaN.
P3D_INLINE float shiftOf(float max) { return max == negativeInfinity ? 0.f : max; }

P3D_VECTOR_CLONES static float rowMax(const float *x, int64_t cols) {
  float max = negativeInfinity;
#pragma omp simd reduction(max : max)
  for (int64_t c = 0; c < cols; ++c)
    max = x[c] > max ? x[c] : max;
  return max;
}

// Blocks bound the error of a long f32 sum (a vocabulary of 2^17 columns).
P3D_VECTOR_CLONES static float rowSum(const float *x, float shift, int64_t cols) {
  constexpr int64_t block = 1024;
  float total = 0;
  for (int64_t begin = 0; begin < cols; begin += block) {
    int64_t end = begin + block < cols ? begin + block : cols;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = begin; c < end; ++c)
      sum += expApproximate(x[c] - shift);
    total += sum;
  }
  return total;
}

P3D_VECTOR_CLONES static void rowGrad(const float *x, float shift, float factor, float *dx, int64_t cols) {
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c)
    dx[c] = factor * expApproximate(x[c] - shift);
}

void p3d_cross_entropy_max(int32_t dtype, const void *logits, float *max, int64_t rows, int64_t cols, int64_t start,
                           int64_t valid) {
  int64_t existing = existingColumns(cols, start, valid);
  parallelFor(rows, grainOf(cols), [&](int64_t begin, int64_t end) {
    RowReader input(dtype, logits, cols);
    for (int64_t r = begin; r < end; ++r)
      max[r] = rowMax(input.read(r * cols, existing), existing);
  });
}

void p3d_cross_entropy_sum(int32_t dtype, const void *logits, const int32_t *targets, const float *max, float *sum,
                           float *target, int64_t rows, int64_t cols, int64_t start, int64_t valid) {
  int64_t existing = existingColumns(cols, start, valid);
  parallelFor(rows, grainOf(cols), [&](int64_t begin, int64_t end) {
    RowReader input(dtype, logits, cols);
    for (int64_t r = begin; r < end; ++r) {
      const float *row = input.read(r * cols, existing);
      sum[r] = rowSum(row, shiftOf(max[r]), existing);
      int64_t column = targets[r] - start;
      target[r] = column >= 0 && column < existing ? row[column] : 0.f;
    }
  });
}

void p3d_cross_entropy_grad(int32_t dtype, const void *logits, const int32_t *targets, const float *max,
                            const float *sum, const float *dloss, void *dx, int64_t rows, int64_t cols, int64_t start,
                            int64_t valid) {
  int64_t existing = existingColumns(cols, start, valid);
  parallelFor(rows, grainOf(cols), [&](int64_t begin, int64_t end) {
    RowReader input(dtype, logits, cols);
    RowWriter output(dtype, dx, cols);
    for (int64_t r = begin; r < end; ++r) {
      float *row = output.row(r * cols);
      rowGrad(input.read(r * cols, existing), shiftOf(max[r]), sum[r] == 0.f ? 0.f : dloss[r] / sum[r], row, existing);
      std::fill(row + existing, row + cols, 0.f);
      int64_t column = targets[r] - start;
      if (column >= 0 && column < existing)
        row[column] -= dloss[r];
      output.commit(r * cols, cols);
    }
  });
}
