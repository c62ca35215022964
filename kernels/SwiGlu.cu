// y = silu(gate) * up (Shazeer 2020) and its gradient. gate and up may be the halves of one product's rows: both have
// rows `stride` elements apart, and so have their gradients. Traffic: each tensor once; nothing but gate and up is kept
// for the backward pass.
#include "kernels/Element.cuh"

using namespace p3d;

namespace {

/// Calls body(place in strided rows, place in dense rows, count, whole) for every chunk of a matrix.
template <typename T, typename Body>
P3D_DEVICE void forChunks(int64_t rows, int cols, int64_t stride, bool aligned, const Body &body) {
  int chunks = (cols + chunkSize<T> - 1) / chunkSize<T>;
  aligned = aligned && cols % chunkSize<T> == 0 && stride % chunkSize<T> == 0;
  for (int64_t at = globalThread(); at < rows * chunks; at += globalThreads()) {
    int64_t r = at / chunks;
    int col = static_cast<int>(at % chunks) * chunkSize<T>,
        count = cols - col < chunkSize<T> ? cols - col : chunkSize<T>;
    body(r * stride + col, r * cols + col, count, aligned);
  }
}

P3D_DEVICE float sigmoid(float x) { return 1.f / (1.f + exponential(-x)); }

template <typename T> P3D_DEVICE void swiglu(const T *gate, const T *up, T *y, int64_t rows, int cols, int64_t stride) {
  bool aligned = isAligned(gate) && isAligned(up) && isAligned(y);
  forChunks<T>(rows, cols, stride, aligned, [&](int64_t in, int64_t out, int count, bool whole) {
    float g[chunkSize<T>], u[chunkSize<T>];
    loadChunk(gate + in, count, whole, g);
    loadChunk(up + in, count, whole, u);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      g[e] = g[e] * sigmoid(g[e]) * u[e];
    storeChunk(y + out, count, whole, g);
  });
}

template <typename T>
P3D_DEVICE void swigluGrad(const T *dy, const T *gate, const T *up, T *dgate, T *dup, int64_t rows, int cols,
                           int64_t stride) {
  bool aligned = isAligned(dy) && isAligned(gate) && isAligned(up) && isAligned(dgate) && isAligned(dup);
  forChunks<T>(rows, cols, stride, aligned, [&](int64_t in, int64_t out, int count, bool whole) {
    float upstream[chunkSize<T>], g[chunkSize<T>], u[chunkSize<T>];
    loadChunk(dy + out, count, whole, upstream);
    loadChunk(gate + in, count, whole, g);
    loadChunk(up + in, count, whole, u);
    P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e) {
      float s = sigmoid(g[e]), silu = g[e] * s;
      g[e] = upstream[e] * u[e] * (s + silu * (1.f - s));
      u[e] = upstream[e] * silu;
    }
    storeChunk(dgate + in, count, whole, g);
    storeChunk(dup + in, count, whole, u);
  });
}

} // namespace

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(256)                                                                                                      \
  p3d_swiglu_##suffix(const type *gate, const type *up, type *y, int64_t rows, int32_t cols, int64_t stride) {         \
    swiglu<type>(gate, up, y, rows, cols, stride);                                                                     \
  }                                                                                                                    \
  P3D_KERNEL(256)                                                                                                      \
  p3d_swiglu_grad_##suffix(const type *dy, const type *gate, const type *up, type *dgate, type *dup, int64_t rows,     \
                           int32_t cols, int64_t stride) {                                                             \
    swigluGrad<type>(dy, gate, up, dgate, dup, rows, cols, stride);                                                    \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
