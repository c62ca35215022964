// Stochastic gradient descent with momentum, as PyTorch defines it: b = momentum * b + g, p -= lr * b.
#include "kernels/Kernels.h"
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"
#include <algorithm>

using namespace p3d;

P3D_VECTOR_CLONES static void plainRange(float *p, const float *g, int64_t count, float lr, float weightDecay,
                                         float gradScale) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    p[i] -= lr * (g[i] * gradScale + weightDecay * p[i]);
}

P3D_VECTOR_CLONES static void momentumRange(float *p, const float *g, float *buffer, int64_t count, float lr,
                                            float momentum, float weightDecay, float gradScale) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    buffer[i] = momentum * buffer[i] + (g[i] * gradScale + weightDecay * p[i]);
    p[i] -= lr * buffer[i];
  }
}

void p3d_sgd(int32_t dtype, void *p, float *master, const float *g, float *momentumBuffer, int64_t count, float lr,
             float momentum, float weightDecay, float gradScale) {
  if (!master && dtype != P3D_F32)
    refuseElementType("p3d_sgd without a master", dtype);
  float *weights = master ? master : static_cast<float *>(p);
  constexpr int64_t block = 4096;
  parallelFor(count, 4 * block, [&](int64_t first, int64_t end) {
    for (int64_t begin = first; begin < end; begin += block) {
      int64_t size = std::min(block, end - begin);
      if (momentumBuffer)
        momentumRange(weights + begin, g + begin, momentumBuffer + begin, size, lr, momentum, weightDecay, gradScale);
      else
        plainRange(weights + begin, g + begin, size, lr, weightDecay, gradScale);
      if (master)
        narrow(dtype, master + begin, offset(dtype, p, begin), size);
    }
  });
}
