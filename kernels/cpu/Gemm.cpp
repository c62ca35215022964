// See Gemm.h.
#include "kernels/cpu/Gemm.h"
#include <cblas.h>

namespace p3d {

static blasint blas(int64_t value) { return static_cast<blasint>(value); }
static CBLAS_TRANSPOSE transposeFlag(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

/// y[rows] = beta * y + alpha * a[rows][cols] x[cols]. For vectors the BLAS' matrix product is two to ten times slower.
static void gemv(int64_t rows, int64_t cols, float alpha, Matrix a, const float *x, int64_t xStride, float beta,
                 float *y, int64_t yStride) {
  int64_t rowsInMemory = a.transposed ? cols : rows, colsInMemory = a.transposed ? rows : cols;
  cblas_sgemv(CblasRowMajor, transposeFlag(a.transposed), blas(rowsInMemory), blas(colsInMemory), alpha, a.data,
              blas(a.stride), x, blas(xStride), beta, y, blas(yStride));
}

void gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix a, Matrix b, float beta, float *c, int64_t cStride) {
  if (n == 1)
    return gemv(m, k, alpha, a, b.data, b.transposed ? 1 : b.stride, beta, c, cStride);
  if (m == 1)
    return gemv(n, k, alpha, {b.data, b.stride, !b.transposed}, a.data, a.transposed ? a.stride : 1, beta, c, 1);
  cblas_sgemm(CblasRowMajor, transposeFlag(a.transposed), transposeFlag(b.transposed), blas(m), blas(n), blas(k), alpha,
              a.data, blas(a.stride), b.data, blas(b.stride), beta, c, blas(cStride));
}

} // namespace p3d
