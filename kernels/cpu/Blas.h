// The BLAS that products are given to: any with the interface of CBLAS that several threads may call at once.
#pragma once
#include <cblas.h>

// Of OpenBLAS and of MKL; what is linked has one or the other.
extern "C" {
__attribute__((weak)) void openblas_set_num_threads(int threads);
__attribute__((weak)) int MKL_Set_Threading_Layer(int layer);
__attribute__((weak)) int MKL_CBWR_Set(int branch);
}

namespace p3d {

/// Makes each product one thread's work; before the first product. MKL is asked for results that do not depend on where
/// an operand lies, too; OpenBLAS packs all operands alike.
inline void shareOutThreadsAboveBlas() {
  constexpr int mklSequential = 1, mklBestReproducible = 2;
  if (openblas_set_num_threads)
    openblas_set_num_threads(1);
  if (MKL_Set_Threading_Layer)
    MKL_Set_Threading_Layer(mklSequential);
  if (MKL_CBWR_Set)
    MKL_CBWR_Set(mklBestReproducible);
}

} // namespace p3d
