// Root-mean-square normalisation (Zhang, Sennrich 2019), forward and backward: a block per row, the row in registers
// (Row.cuh). Traffic: forward reads x and writes y once; backward reads dy and x, writes dx once, and adds to per-block
// sums of the scale's gradient (NormGrad.cuh) instead of reading dy and x a second time.
#include "kernels/NormGrad.cuh"

using namespace p3d;

namespace {

template <typename T>
P3D_DEVICE void rmsNorm(const T *x, Parameter<T> scale, T *y, float *rstd, int cols, float epsilon) {
  P3D_SHARED BlockScratch<float> scratch;
  int64_t r = blockIndex();
  bool aligned = isAligned(y);
  HeldRow<T> row(x + r * cols, RowLayout<T>(x, cols));
  float squares = 0;
  row.forEach([&](RowPart, const float(&values)[chunkSize<T>]) { // beyond the end values are 0
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      squares += values[e] * values[e];
  });
  float inverse = 1.f / squareRoot(blockSum(squares, scratch) / static_cast<float>(cols) + epsilon);
  row.forEach([&](RowPart part, const float(&values)[chunkSize<T>]) {
    float scales[chunkSize<T>], out[chunkSize<T>];
    scale.load(part.col, part.count, scales);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      out[e] = values[e] * inverse * scales[e];
    storeChunk(y + r * cols + part.col, part.count, part.whole && aligned, out);
  });
  if (threadIndex() == 0)
    rstd[r] = inverse;
}

// With n = x * rstd and g = dy * scale: dx = rstd * (g - n * average(g * n)).
template <typename T>
P3D_DEVICE void rowGrad(const HeldRow<T, 2> &dy, const HeldRow<T, 2> &x, Parameter<T> scale, float rstd,
                        ParameterSums<T> &sums, T *dx, bool aligned, int cols, BlockScratch<float> &scratch) {
  float dot = 0;
  dy.forEachWith(x, [&](RowPart part, const float(&upstream)[chunkSize<T>], const float(&values)[chunkSize<T>]) {
    float scales[chunkSize<T>], scaleGrads[chunkSize<T>];
    scale.load(part.col, part.count, scales);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e) {
      scaleGrads[e] = upstream[e] * values[e] * rstd; // 0 beyond the end
      dot += scaleGrads[e] * scales[e];
    }
    sums.add(0, part, scaleGrads);
  });
  dot = blockSum(dot, scratch) / static_cast<float>(cols);
  dy.forEachWith(x, [&](RowPart part, const float(&upstream)[chunkSize<T>], const float(&values)[chunkSize<T>]) {
    float scales[chunkSize<T>], out[chunkSize<T>];
    scale.load(part.col, part.count, scales);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      out[e] = rstd * (upstream[e] * scales[e] - values[e] * rstd * dot);
    storeChunk(dx + part.col, part.count, part.whole && aligned, out);
  });
}

template <typename T>
P3D_DEVICE void rmsNormGrad(const T *dy, const T *x, Parameter<T> scale, const float *rstd, T *dx, float *partial,
                            float *shared, int64_t rows, int cols) {
  P3D_SHARED BlockScratch<float> scratch;
  RowLayout<T> layout(x, cols);
  layout.aligned = layout.aligned && isAligned(dy);
  ParameterSums<T> sums(partial, shared, partial ? 1 : 0, layout);
  for (int64_t r = blockIndex(); r < rows; r += blockCount())
    rowGrad<T>(HeldRow<T, 2>(dy + r * cols, layout), HeldRow<T, 2>(x + r * cols, layout), scale, rstd[r], sums,
               dx + r * cols, isAligned(dx), cols, scratch);
  sums.finish();
}

} // namespace

extern P3D_SHARED float p3dRmsNormShared[];

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(1024)                                                                                                     \
  p3d_rms_norm_##suffix(const type *x, const void *scale, int32_t paramIsF32, type *y, float *rstd, int32_t cols,      \
                        float epsilon) {                                                                               \
    rmsNorm<type>(x, {scale, paramIsF32, 1.f}, y, rstd, cols, epsilon);                                                \
  }                                                                                                                    \
  P3D_KERNEL_BLOCKS(512, 1)                                                                                            \
  p3d_rms_norm_grad_##suffix(const type *dy, const type *x, const void *scale, int32_t paramIsF32, const float *rstd,  \
                             type *dx, float *partial, int32_t isShared, int64_t rows, int32_t cols) {                 \
    rmsNormGrad<type>(dy, x, {scale, paramIsF32, 1.f}, rstd, dx, partial, isShared ? p3dRmsNormShared : nullptr, rows, \
                      cols);                                                                                           \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
