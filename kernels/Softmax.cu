// Softmax over rows and its gradient: a block per row, the row in registers (Row.cuh). Traffic: each tensor is read or
// written once, as long as a row fits in the registers of a block (32768 elements of 16 bits); longer rows are read
// again from the second-level cache for each of the three passes.
#include "kernels/Row.cuh"

using namespace p3d;

namespace {

template <typename T> P3D_DEVICE void softmax(const T *x, T *y, int cols) {
  P3D_SHARED BlockScratch<float> scratch;
  int64_t r = blockIndex();
  bool aligned = isAligned(y);
  HeldRow<T> row(x + r * cols, RowLayout<T>(x, cols));
  float max = negativeInfinity, sum = 0;
  row.forEach([&](RowPart part, const float(&values)[chunkSize<T>]) {
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      max = e < part.count ? maximum(max, values[e]) : max;
  });
  max = blockMax(max, scratch);
  float shift = max == negativeInfinity ? 0.f : max; // a row of -inf gives zeros
  row.forEach([&](RowPart part, const float(&values)[chunkSize<T>]) {
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      sum += e < part.count ? exponential(values[e] - shift) : 0.f;
  });
  sum = blockSum(sum, scratch);
  float factor = sum == 0.f ? 0.f : 1.f / sum;
  row.forEach([&](RowPart part, const float(&values)[chunkSize<T>]) {
    float out[chunkSize<T>];
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      out[e] = exponential(values[e] - shift) * factor;
    storeChunk(y + r * cols + part.col, part.count, part.whole && aligned, out);
  });
}

template <typename T> P3D_DEVICE void softmaxGrad(const T *y, const T *dy, T *dx, int cols) {
  P3D_SHARED BlockScratch<float> scratch;
  int64_t r = blockIndex();
  RowLayout<T> layout(y, cols);
  layout.aligned = layout.aligned && isAligned(dy);
  bool aligned = isAligned(dx);
  HeldRow<T> probabilities(y + r * cols, layout), upstream(dy + r * cols, layout);
  float dot = 0;
  probabilities.forEachWith(upstream, [&](RowPart, const float(&p)[chunkSize<T>], const float(&dp)[chunkSize<T>]) {
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      dot += p[e] * dp[e]; // 0 beyond the end
  });
  dot = blockSum(dot, scratch);
  probabilities.forEachWith(upstream, [&](RowPart part, const float(&p)[chunkSize<T>], const float(&dp)[chunkSize<T>]) {
    float out[chunkSize<T>];
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      out[e] = p[e] * (dp[e] - dot);
    storeChunk(dx + r * cols + part.col, part.count, part.whole && aligned, out);
  });
}

} // namespace

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(1024) p3d_softmax_##suffix(const type *x, type *y, int32_t cols) { softmax<type>(x, y, cols); }           \
  P3D_KERNEL(1024) p3d_softmax_grad_##suffix(const type *y, const type *dy, type *dx, int32_t cols) {                  \
    softmaxGrad<type>(y, dy, dx, cols);                                                                                \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
