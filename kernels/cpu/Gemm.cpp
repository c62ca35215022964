// See Gemm.h.
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/Blas.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <vector>

// Of OpenBLAS, which exports them without a header: what it does when it is loaded, and undoes; the buffer of a product.
extern "C" {
__attribute__((weak)) char *openblas_get_corename(void);
__attribute__((weak)) void gotoblas_dynamic_init(void);
__attribute__((weak)) void gotoblas_dynamic_quit(void);
__attribute__((weak)) void *blas_memory_alloc(int);
__attribute__((weak)) void blas_memory_free(void *);
}

namespace p3d {

/// OpenBLAS picks its kernels by the CPU's model number. On a model newer than the library it falls back to SSE3, at a
/// tenth of the speed: then what the CPU can do decides. A choice by OPENBLAS_CORETYPE stands.
static void chooseCore() {
#if defined(__x86_64__)
  const char *variable = "OPENBLAS_CORETYPE";
  bool isKnown = openblas_get_corename && gotoblas_dynamic_init && gotoblas_dynamic_quit;
  if (!isKnown || std::getenv(variable) || std::strcmp(openblas_get_corename(), "Prescott") != 0)
    return;
  __builtin_cpu_init();
  const char *core = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
                         ? "SkylakeX"
                     : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell"
                                                                                       : nullptr;
  if (!core)
    return;
  setenv(variable, core, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(variable);
#endif
}

/// When the program is loaded: no product can come before, and no thread reads the environment yet.
[[maybe_unused]] static const bool coreIsChosen = (chooseCore(), true);

/// Threads are shared out by Parallel.h, above the BLAS: how it cuts a product for its own would depend on their number.
[[maybe_unused]] static const bool blasHasOneThread = (shareOutThreadsAboveBlas(), true);

void useHugePages(int products) {
  constexpr size_t page = size_t(2) << 20, used = size_t(32) << 20; // of a buffer's 128 MiB
  if (!blas_memory_alloc || !blas_memory_free)
    return;
  std::vector<void *> buffers;
  for (int i = 0; i < products; ++i) {
    buffers.push_back(blas_memory_alloc(0));
    uintptr_t begin = (reinterpret_cast<uintptr_t>(buffers.back()) + page - 1) / page * page;
    madvise(reinterpret_cast<void *>(begin), used - page, MADV_HUGEPAGE);
  }
  for (void *buffer : buffers)
    blas_memory_free(buffer);
}

static int32_t blas(int64_t value) { return static_cast<int32_t>(value); }
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
