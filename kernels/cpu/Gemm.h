// Single-precision matrix products on the BLAS.
#pragma once
#include <cstdint>

namespace p3d {

/// A row-major matrix of f32 with `stride` elements from row to row; `transposed` where the memory holds its transpose.
struct Matrix {
  const float *data;
  int64_t stride;
  bool transposed = false;
};

/// c[m][n] = beta * c + alpha * a[m][k] b[k][n]. Row strides are at least the length of a row as it lies in memory; m,
/// n, k and strides below 2^31. beta = 0 ignores what c held; k = 0 leaves beta * c.
void gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix a, Matrix b, float beta, float *c, int64_t cStride);

/// Asks for huge pages for the buffers into which the BLAS packs operands, as many as products run at once: a panel
/// fills more small pages than a core's first table of addresses holds.
void useHugePages(int products);

} // namespace p3d
