// The three pieces of softmax-cross-entropy over one shard of the vocabulary: a block per row. Traffic: logits are read
// once in each piece (three times in all) and dx is written once, over the logits if the caller wants; no rank holds
// probabilities, and the reductions over the shards stay with the caller.
#include "kernels/Row.cuh"

using namespace p3d;

namespace {

/// Calls body(part, values) for each chunk of the first `existing` columns of row `r`.
template <typename T, typename Body>
P3D_DEVICE void forLogits(const T *logits, int64_t r, int cols, int existing, const Body &body) {
  RowLayout<T> layout(logits, cols); // the alignment of whole rows
  layout.cols = existing;
  HeldRow<T, 1>(logits + r * cols, layout).forEach(body);
}

// What exponents are taken relative to: 0 for a row that is -inf everywhere, where -inf - -inf would be NaN.
P3D_DEVICE float shiftOf(float max) { return max == negativeInfinity ? 0.f : max; }

template <typename T> P3D_DEVICE void rowMax(const T *logits, float *max, int cols, int existing) {
  P3D_SHARED BlockScratch<float> scratch;
  float largest = negativeInfinity;
  forLogits(logits, blockIndex(), cols, existing, [&](RowPart part, const float(&values)[chunkSize<T>]) {
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      largest = e < part.count ? maximum(largest, values[e]) : largest;
  });
  largest = blockMax(largest, scratch);
  if (threadIndex() == 0)
    max[blockIndex()] = largest;
}

template <typename T>
P3D_DEVICE void rowSum(const T *logits, const int32_t *targets, const float *max, float *sum, float *target, int cols,
                       int existing, int64_t start) {
  P3D_SHARED BlockScratch<float> scratch;
  int64_t r = blockIndex();
  float shift = shiftOf(max[r]), total = 0;
  forLogits(logits, r, cols, existing, [&](RowPart part, const float(&values)[chunkSize<T>]) {
    float chunkTotal = 0;
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      chunkTotal += e < part.count ? exponential(values[e] - shift) : 0.f;
    total += chunkTotal;
  });
  total = blockSum(total, scratch);
  if (threadIndex() != 0)
    return;
  int64_t column = targets[r] - start;
  sum[r] = total;
  target[r] = column >= 0 && column < existing ? toFloat(logits[r * cols + column]) : 0.f;
}

template <typename T>
P3D_DEVICE void rowGrad(const T *logits, const int32_t *targets, const float *max, const float *sum, const float *dloss,
                        T *dx, int cols, int existing, int64_t start) {
  int64_t r = blockIndex();
  float shift = shiftOf(max[r]), factor = sum[r] == 0.f ? 0.f : dloss[r] / sum[r], upstream = dloss[r];
  int64_t column = targets[r] - start;
  bool aligned = isAligned(dx);
  forLogits(logits, r, cols, cols, [&](RowPart part, const float(&values)[chunkSize<T>]) {
    float out[chunkSize<T>];
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e) {
      float grad = factor * exponential(values[e] - shift) - (part.col + e == column ? upstream : 0.f);
      out[e] = part.col + e < existing ? grad : 0.f; // padding columns may hold anything
    }
    storeChunk(dx + r * cols + part.col, part.count, part.whole && aligned, out);
  });
}

} // namespace

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(1024)                                                                                                     \
  p3d_cross_entropy_max_##suffix(const type *logits, float *max, int32_t cols, int32_t existing) {                     \
    rowMax<type>(logits, max, cols, existing);                                                                         \
  }                                                                                                                    \
  P3D_KERNEL(1024)                                                                                                     \
  p3d_cross_entropy_sum_##suffix(const type *logits, const int32_t *targets, const float *max, float *sum,             \
                                 float *target, int32_t cols, int32_t existing, int64_t start) {                       \
    rowSum<type>(logits, targets, max, sum, target, cols, existing, start);                                            \
  }                                                                                                                    \
  P3D_KERNEL(1024)                                                                                                     \
  p3d_cross_entropy_grad_##suffix(const type *logits, const int32_t *targets, const float *max, const float *sum,      \
                                  const float *dloss, type *dx, int32_t cols, int32_t existing, int64_t start) {       \
    rowGrad<type>(logits, targets, max, sum, dloss, dx, cols, existing, start);                                        \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
