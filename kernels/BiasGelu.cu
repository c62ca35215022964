// y = gelu(x + bias) and its gradient, with the tanh form of the GELU (GPT-2) or the exact one. A thread keeps its
// chunk of columns, whose bias stays in registers, and walks over rows: grid x groups of columns, y groups of rows.
// Traffic: each tensor once; the bias's gradient is summed in registers over a group of rows and then by
// p3d_sum_partials. And y = x + bias, and the sums of columns alone, for products whose library has no epilogue for
// them.
#include "kernels/Element.cuh"

using namespace p3d;

namespace {

struct Gelu {
  float value, slope;
};

P3D_DEVICE Gelu geluOf(float x, bool isExact) {
  if (isExact) {
    float phi = 0.5f * (1.f + errorFunction(x * 0.70710678118654752f));
    return {x * phi, phi + x * 0.39894228040143268f * exponential(-0.5f * x * x)};
  }
  const float a = 0.79788456080286536f, b = 0.044715f;
  float t = hyperbolicTangent(a * (x + b * x * x * x));
  return {0.5f * x * (1.f + t), 0.5f * (1.f + t) + 0.5f * x * (1.f - t * t) * a * (1.f + 3.f * b * x * x)};
}

/// Calls body(first element, count, whole) for the rows of this thread's chunk of columns.
template <typename T, typename Body>
P3D_DEVICE void forRows(int64_t rows, int cols, int col, bool aligned, const Body &body) {
  int count = cols - col < chunkSize<T> ? cols - col : chunkSize<T>;
  bool whole = aligned && count == chunkSize<T> && cols % chunkSize<T> == 0;
  for (int64_t r = blockIndexY(); r < rows; r += blockCountY())
    body(r * cols + col, count, whole);
}

template <typename T>
P3D_DEVICE void biasGelu(const T *x, Parameter<T> bias, T *y, int64_t rows, int cols, bool isExact) {
  int col = static_cast<int>(globalThread()) * chunkSize<T>;
  if (col >= cols)
    return;
  float biases[chunkSize<T>];
  bias.load(col, cols - col < chunkSize<T> ? cols - col : chunkSize<T>, biases);
  forRows<T>(rows, cols, col, isAligned(x) && isAligned(y), [&](int64_t first, int count, bool whole) {
    float values[chunkSize<T>];
    loadChunk(x + first, count, whole, values);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      values[e] = geluOf(values[e] + biases[e], isExact).value;
    storeChunk(y + first, count, whole, values);
  });
}

template <typename T> P3D_DEVICE void addBias(const T *x, const T *bias, T *y, int64_t rows, int cols) {
  int col = static_cast<int>(globalThread()) * chunkSize<T>;
  if (col >= cols)
    return;
  float biases[chunkSize<T>];
  int last = cols - col < chunkSize<T> ? cols - col : chunkSize<T>;
  loadChunk(bias + col, last, false, biases);
  forRows<T>(rows, cols, col, isAligned(x) && isAligned(y), [&](int64_t first, int count, bool whole) {
    float values[chunkSize<T>];
    loadChunk(x + first, count, whole, values);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      values[e] += biases[e];
    storeChunk(y + first, count, whole, values);
  });
}

template <typename T> P3D_DEVICE void columnSums(const T *x, float *partial, int64_t rows, int cols) {
  int col = static_cast<int>(globalThread()) * chunkSize<T>;
  if (col >= cols)
    return;
  float sums[chunkSize<T>] = {};
  forRows<T>(rows, cols, col, isAligned(x), [&](int64_t first, int count, bool whole) {
    float values[chunkSize<T>];
    loadChunk(x + first, count, whole, values);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      sums[e] += values[e];
  });
  P3D_UNROLL
  for (int e = 0; e < chunkSize<T>; ++e)
    if (col + e < cols)
      partial[static_cast<int64_t>(blockIndexY()) * cols + col + e] = sums[e];
}

template <typename T>
P3D_DEVICE void biasGeluGrad(const T *dy, const T *x, Parameter<T> bias, T *dx, float *partial, int64_t rows, int cols,
                             bool isExact) {
  int col = static_cast<int>(globalThread()) * chunkSize<T>;
  if (col >= cols)
    return;
  float biases[chunkSize<T>], sums[chunkSize<T>] = {};
  bias.load(col, cols - col < chunkSize<T> ? cols - col : chunkSize<T>, biases);
  bool aligned = isAligned(dy) && isAligned(x) && isAligned(dx);
  forRows<T>(rows, cols, col, aligned, [&](int64_t first, int count, bool whole) {
    float upstream[chunkSize<T>], values[chunkSize<T>];
    loadChunk(dy + first, count, whole, upstream);
    loadChunk(x + first, count, whole, values);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      sums[e] += values[e] = upstream[e] * geluOf(values[e] + biases[e], isExact).slope;
    storeChunk(dx + first, count, whole, values);
  });
  P3D_UNROLL
  for (int e = 0; e < chunkSize<T>; ++e)
    if (partial && col + e < cols)
      partial[static_cast<int64_t>(blockIndexY()) * cols + col + e] = sums[e];
}

} // namespace

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(128)                                                                                                      \
  p3d_bias_gelu_##suffix(const type *x, const void *bias, int32_t biasIsF32, type *y, int64_t rows, int32_t cols,      \
                         int32_t isExact) {                                                                            \
    biasGelu<type>(x, {bias, biasIsF32, 0.f}, y, rows, cols, isExact != 0);                                            \
  }                                                                                                                    \
  P3D_KERNEL(128)                                                                                                      \
  p3d_bias_gelu_grad_##suffix(const type *dy, const type *x, const void *bias, int32_t biasIsF32, type *dx,            \
                              float *partial, int64_t rows, int32_t cols, int32_t isExact) {                           \
    biasGeluGrad<type>(dy, x, {bias, biasIsF32, 0.f}, dx, partial, rows, cols, isExact != 0);                          \
  }                                                                                                                    \
  P3D_KERNEL(128)                                                                                                      \
  p3d_add_bias_##suffix(const type *x, const type *bias, type *y, int64_t rows, int32_t cols) {                        \
    addBias<type>(x, bias, y, rows, cols);                                                                             \
  }                                                                                                                    \
  P3D_KERNEL(128)                                                                                                      \
  p3d_column_sums_##suffix(const type *x, float *partial, int64_t rows, int32_t cols) {                                \
    columnSums<type>(x, partial, rows, cols);                                                                          \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
