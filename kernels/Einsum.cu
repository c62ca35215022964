// Strided matrix products inside loops, for plans that cuBLASLt cannot express (no unit stride, too many loops, 16-bit
// operands at odd places). f32 sums by fused multiply-adds, rounded once; no tensor cores: where these kernels would
// take a noticeable part of a step, the plan should be one for cuBLASLt. p3d_einsum_tile: a block of 16 x 16 threads
// makes 64 x 64 results of one index of the kept loops, a thread 4 x 4, from tiles of 16 steps of k in shared memory;
// summed loops run outside k. Traffic: a is read n / 64 times, b m / 64 times. p3d_einsum_element: a thread per result,
// where m * n is small (element-wise products, outer products of few rows).
#include "kernels/CudaArguments.h"
#include "kernels/Element.cuh"

using namespace p3d;

namespace {

constexpr int tileSize = 64, tileDepth = 16, perThread = 4;

struct Offsets {
  int64_t a, b, c;
};

/// The element offsets of index `at` of loops [begin, end), the last one innermost.
P3D_DEVICE Offsets offsetsOf(const p3d_cuda_einsum_arguments &e, int begin, int end, int64_t at) {
  Offsets offsets = {0, 0, 0};
  for (int l = end - 1; l >= begin; --l) {
    int64_t i = at % e.extent[l];
    at /= e.extent[l];
    offsets.a += i * e.a[l];
    offsets.b += i * e.b[l];
    offsets.c += i * e.c[l];
  }
  return offsets;
}

template <typename T> P3D_DEVICE void store(const p3d_cuda_einsum_arguments &e, void *c, int64_t at, float sum) {
  if (e.cIsF32) {
    float *to = static_cast<float *>(c) + at;
    *to = e.accumulate ? *to + sum : sum;
  } else {
    T *to = static_cast<T *>(c) + at;
    *to = fromFloat<T>(e.accumulate ? toFloat(*to) + sum : sum);
  }
}

template <typename T> class ProductTile {
public:
  P3D_DEVICE ProductTile(const p3d_cuda_einsum_arguments &e, float (&left)[tileDepth][tileSize + 1],
                         float (&right)[tileDepth][tileSize + 1])
      : e(e), left(left), right(right), firstM(blockIndexY() * tileSize), firstN(blockIndex() * tileSize) {}

  P3D_DEVICE void run(const T *a, const T *b, void *c) {
    for (int64_t kept = blockIndexZ(); kept < e.keptCount; kept += blockCountZ()) {
      Offsets at = offsetsOf(e, 0, e.keptLoops, kept);
      float sums[perThread][perThread] = {};
      for (int64_t summed = 0; summed < e.summedCount; ++summed) {
        Offsets inner = offsetsOf(e, e.keptLoops, e.keptLoops + e.summedLoops, summed);
        for (int64_t k = 0; k < e.k; k += tileDepth)
          addStep(a + at.a + inner.a, b + at.b + inner.b, k, sums);
      }
      storeTile(c, at.c, sums);
    }
  }

private:
  P3D_DEVICE void addStep(const T *a, const T *b, int64_t firstK, float (&sums)[perThread][perThread]) {
    blockBarrier(); // the last tiles were used by all
    for (int i = threadIndex(); i < tileSize * tileDepth; i += threadCount()) {
      // Neighbouring threads read along the smaller stride.
      bool alongK = e.aK <= e.aM;
      int row = alongK ? i / tileDepth : i % tileSize, k = alongK ? i % tileDepth : i / tileSize;
      bool exists = firstM + row < e.m && firstK + k < e.k;
      left[k][row] = exists ? toFloat(a[(firstM + row) * e.aM + (firstK + k) * e.aK]) : 0.f;
      alongK = e.bK < e.bN;
      int col = alongK ? i / tileDepth : i % tileSize;
      k = alongK ? i % tileDepth : i / tileSize;
      exists = firstN + col < e.n && firstK + k < e.k;
      right[k][col] = exists ? toFloat(b[(firstK + k) * e.bK + (firstN + col) * e.bN]) : 0.f;
    }
    blockBarrier();
    int row = threadIndex() / 16, col = threadIndex() % 16;
    for (int k = 0; k < tileDepth; ++k)
      P3D_UNROLL
    for (int i = 0; i < perThread; ++i)
      P3D_UNROLL
    for (int j = 0; j < perThread; ++j)
      sums[i][j] = fusedMultiplyAdd(left[k][row + 16 * i], right[k][col + 16 * j], sums[i][j]);
  }

  P3D_DEVICE void storeTile(void *c, int64_t at, const float (&sums)[perThread][perThread]) const {
    P3D_UNROLL
    for (int i = 0; i < perThread; ++i)
      P3D_UNROLL
    for (int j = 0; j < perThread; ++j) {
      int64_t row = firstM + threadIndex() / 16 + 16 * i, col = firstN + threadIndex() % 16 + 16 * j;
      if (row < e.m && col < e.n)
        store<T>(e, c, at + row * e.cM + col * e.cN, sums[i][j]);
    }
  }

  const p3d_cuda_einsum_arguments &e;
  float (&left)[tileDepth][tileSize + 1], (&right)[tileDepth][tileSize + 1];
  int64_t firstM, firstN;
};

template <typename T>
P3D_DEVICE void einsumElement(const p3d_cuda_einsum_arguments &e, const T *a, const T *b, void *c) {
  int64_t results = e.keptCount * e.m * e.n;
  for (int64_t result = globalThread(); result < results; result += globalThreads()) {
    int64_t row = result / e.n % e.m, col = result % e.n;
    Offsets at = offsetsOf(e, 0, e.keptLoops, result / e.n / e.m);
    float sum = 0;
    for (int64_t summed = 0; summed < e.summedCount; ++summed) {
      Offsets inner = offsetsOf(e, e.keptLoops, e.keptLoops + e.summedLoops, summed);
      const T *left = a + at.a + inner.a + row * e.aM, *right = b + at.b + inner.b + col * e.bN;
      for (int64_t k = 0; k < e.k; ++k)
        sum = fusedMultiplyAdd(toFloat(left[k * e.aK]), toFloat(right[k * e.bK]), sum);
    }
    store<T>(e, c, at.c + row * e.cM + col * e.cN, sum);
  }
}

} // namespace

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL_BLOCKS(256, 2)                                                                                            \
  p3d_einsum_tile_##suffix(p3d_cuda_einsum_arguments e, const type *a, const type *b, void *c) {                       \
    P3D_SHARED float left[tileDepth][tileSize + 1], right[tileDepth][tileSize + 1];                                    \
    ProductTile<type>(e, left, right).run(a, b, c);                                                                    \
  }                                                                                                                    \
  P3D_KERNEL(256) p3d_einsum_element_##suffix(p3d_cuda_einsum_arguments e, const type *a, const type *b, void *c) {    \
    einsumElement<type>(e, a, b, c);                                                                                   \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
