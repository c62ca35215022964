// Sum of squares, for the global norm of gradients.
#include "kernels/Kernels.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"
#include <vector>

P3D_VECTOR_CLONES static double rangeSquares(const float *x, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

double p3d_squared_norm(const float *x, int64_t count) {
  constexpr int64_t block = 65536; // the same whatever the threads: the order of the sum follows from it
  std::vector<double> sums((count + block - 1) / block);
  p3d::parallelFor(static_cast<int64_t>(sums.size()), 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      sums[i] = rangeSquares(x + i * block, std::min(block, count - i * block));
  });
  double sum = 0;
  for (double part : sums)
    sum += part;
  return sum;
}
