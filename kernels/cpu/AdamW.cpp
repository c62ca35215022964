// AdamW (Loshchilov, Hutter 2019): one pass over parameter, gradient and both moments.
#include "kernels/Kernels.h"
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Parallel.h"
#include "kernels/cpu/Vector.h"
#include <algorithm>
#include <cmath>

using namespace p3d;

namespace {
struct AdamWStep {
  float beta1, beta2, epsilon, gradScale;
  float keep;              // 1 - lr * weightDecay
  float rate;              // lr / (1 - beta1^step)
  float inverseCorrection; // 1 / sqrt(1 - beta2^step)
};
} // namespace

P3D_VECTOR_CLONES static void adamWRange(const AdamWStep &step, float *p, const float *g, float *m, float *v,
                                         int64_t count) {
  AdamWStep s = step;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    float grad = g[i] * s.gradScale;
    m[i] = s.beta1 * m[i] + (1.f - s.beta1) * grad;
    v[i] = s.beta2 * v[i] + (1.f - s.beta2) * grad * grad;
    p[i] = s.keep * p[i] - s.rate * m[i] / (std::sqrt(v[i]) * s.inverseCorrection + s.epsilon);
  }
}

void p3d_adamw(int32_t dtype, void *p, float *master, const float *g, float *m, float *v, int64_t count, int64_t step,
               float lr, float beta1, float beta2, float epsilon, float weightDecay, float gradScale) {
  if (!master && dtype != P3D_F32)
    refuseElementType("p3d_adamw without a master", dtype);
  // Powers in double: in f32, 1 - beta2^step loses half its digits in the first steps.
  double correction1 = 1 - std::pow(static_cast<double>(beta1), static_cast<double>(step));
  double correction2 = 1 - std::pow(static_cast<double>(beta2), static_cast<double>(step));
  AdamWStep constants = {beta1,
                         beta2,
                         epsilon,
                         gradScale,
                         static_cast<float>(1 - static_cast<double>(lr) * weightDecay),
                         static_cast<float>(lr / correction1),
                         static_cast<float>(1 / std::sqrt(correction2))};
  float *weights = master ? master : static_cast<float *>(p);
  constexpr int64_t block = 4096; // the fresh masters are still in the cache when they are rounded
  parallelFor(count, 4 * block, [&](int64_t first, int64_t end) {
    for (int64_t begin = first; begin < end; begin += block) {
      int64_t size = std::min(block, end - begin);
      adamWRange(constants, weights + begin, g + begin, m + begin, v + begin, size);
      if (master)
        narrow(dtype, master + begin, offset(dtype, p, begin), size);
    }
  });
}
