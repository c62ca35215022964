// See Gemm.h.
#include "kernels/cpu/Gemm.h"
#include <cblas.h>

namespace p3d {

void gemm(int64_t m, int64_t n, int64_t k, float alpha, Matrix a, Matrix b, float beta, float *c, int64_t cStride) {
  auto blas = [](int64_t value) { return static_cast<blasint>(value); };
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans, b.transposed ? CblasTrans : CblasNoTrans,
              blas(m), blas(n), blas(k), alpha, a.data, blas(a.stride), b.data, blas(b.stride), beta, c, blas(cStride));
}

} // namespace p3d
