// Sum of squares, for the global norm of gradients.
#include "kernels/Kernels.h"
#include "kernels/cpu/Vector.h"

P3D_VECTOR_CLONES double p3d_squared_norm(const float *x, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}
