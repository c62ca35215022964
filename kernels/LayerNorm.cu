// Layer normalisation (Ba, Kiros, Hinton 2016), forward and backward: a block per row, the row in registers (Row.cuh).
// Traffic: forward reads x and writes y once; backward reads dy and x, writes dx once, and adds to per-block sums of
// the parameters' gradients (NormGrad.cuh) instead of reading dy and x a second time. Two passes for the variance: the
// difference of large squares would lose that of a row with a large mean. Bound by memory: 4 (forward) and 2 (backward)
// chunks of 16 bytes in flight per thread.
#include "kernels/NormGrad.cuh"

using namespace p3d;

namespace {

template <typename T>
P3D_DEVICE void layerNorm(const T *x, Parameter<T> scale, Parameter<T> bias, T *y, float *mean, float *rstd, int cols,
                          float epsilon) {
  P3D_SHARED BlockScratch<float> scratch;
  int64_t r = blockIndex();
  RowLayout<T> layout(x, cols);
  bool aligned = isAligned(y);
  HeldRow<T> row(x + r * cols, layout);
  float sum = 0, squares = 0;
  row.forEach([&](RowPart, const float(&values)[chunkSize<T>]) { // beyond the end values are 0
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      sum += values[e];
  });
  float average = blockSum(sum, scratch) / static_cast<float>(cols);
  row.forEach([&](RowPart part, const float(&values)[chunkSize<T>]) {
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      squares += e < part.count ? (values[e] - average) * (values[e] - average) : 0.f;
  });
  float inverse = 1.f / squareRoot(blockSum(squares, scratch) / static_cast<float>(cols) + epsilon);
  row.forEach([&](RowPart part, const float(&values)[chunkSize<T>]) {
    float scales[chunkSize<T>], biases[chunkSize<T>], out[chunkSize<T>];
    scale.load(part.col, part.count, scales);
    bias.load(part.col, part.count, biases);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      out[e] = (values[e] - average) * inverse * scales[e] + biases[e];
    storeChunk(y + r * cols + part.col, part.count, part.whole && aligned, out);
  });
  if (threadIndex() == 0) {
    mean[r] = average;
    rstd[r] = inverse;
  }
}

// With n = (x - mean) * rstd and g = dy * scale: dx = rstd * (g - average(g) - n * average(g * n)).
template <typename T>
P3D_DEVICE void rowGrad(const HeldRow<T, 2> &dy, const HeldRow<T, 2> &x, Parameter<T> scale, float mean, float rstd,
                        ParameterSums<T> &sums, T *dx, bool aligned, int cols, BlockScratch<float> &scratch) {
  float sum = 0, dot = 0;
  dy.forEachWith(x, [&](RowPart part, const float(&upstream)[chunkSize<T>], const float(&values)[chunkSize<T>]) {
    float scales[chunkSize<T>], scaleGrads[chunkSize<T>];
    scale.load(part.col, part.count, scales);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e) {
      float normalized = (values[e] - mean) * rstd, g = upstream[e] * scales[e]; // 0 beyond the end
      sum += g;
      dot += g * normalized;
      scaleGrads[e] = upstream[e] * normalized;
    }
    sums.add(0, part, scaleGrads);
    sums.add(1, part, upstream);
  });
  sum = blockSum(sum, scratch) / static_cast<float>(cols);
  dot = blockSum(dot, scratch) / static_cast<float>(cols);
  dy.forEachWith(x, [&](RowPart part, const float(&upstream)[chunkSize<T>], const float(&values)[chunkSize<T>]) {
    float scales[chunkSize<T>], out[chunkSize<T>];
    scale.load(part.col, part.count, scales);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      out[e] = rstd * (upstream[e] * scales[e] - sum - (values[e] - mean) * rstd * dot);
    storeChunk(dx + part.col, part.count, part.whole && aligned, out);
  });
}

template <typename T>
P3D_DEVICE void layerNormGrad(const T *dy, const T *x, Parameter<T> scale, const float *mean, const float *rstd, T *dx,
                              float *partial, float *shared, int64_t rows, int cols) {
  P3D_SHARED BlockScratch<float> scratch;
  RowLayout<T> layout(x, cols);
  layout.aligned = layout.aligned && isAligned(dy);
  ParameterSums<T> sums(partial, shared, partial ? 2 : 0, layout);
  for (int64_t r = blockIndex(); r < rows; r += blockCount())
    rowGrad<T>(HeldRow<T, 2>(dy + r * cols, layout), HeldRow<T, 2>(x + r * cols, layout), scale, mean[r], rstd[r], sums,
               dx + r * cols, isAligned(dx), cols, scratch);
  sums.finish();
}

} // namespace

extern P3D_SHARED float p3dLayerNormShared[];

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(1024)                                                                                                     \
  p3d_layer_norm_##suffix(const type *x, const void *scale, const void *bias, int32_t paramIsF32, type *y,             \
                          float *mean, float *rstd, int32_t cols, float epsilon) {                                     \
    layerNorm<type>(x, {scale, paramIsF32, 1.f}, {bias, paramIsF32, 0.f}, y, mean, rstd, cols, epsilon);               \
  }                                                                                                                    \
  P3D_KERNEL_BLOCKS(512, 1)                                                                                            \
  p3d_layer_norm_grad_##suffix(const type *dy, const type *x, const void *scale, int32_t paramIsF32,                   \
                               const float *mean, const float *rstd, type *dx, float *partial, int32_t isShared,       \
                               int64_t rows, int32_t cols) {                                                           \
    layerNormGrad<type>(dy, x, {scale, paramIsF32, 1.f}, mean, rstd, dx, partial,                                      \
                        isShared ? p3dLayerNormShared : nullptr, rows, cols);                                          \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
