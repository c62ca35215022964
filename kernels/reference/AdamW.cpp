// AdamW as its paper writes it.
#include "kernels/reference/Reference.h"
#include <cmath>

void reference::adamw(double *p, const double *g, double *m, double *v, int64_t count, int64_t step, double lr,
                      double beta1, double beta2, double epsilon, double weightDecay, double gradScale) {
  for (int64_t i = 0; i < count; ++i) {
    double grad = g[i] * gradScale;
    m[i] = beta1 * m[i] + (1 - beta1) * grad;
    v[i] = beta2 * v[i] + (1 - beta2) * grad * grad;
    double unbiasedM = m[i] / (1 - std::pow(beta1, step)), unbiasedV = v[i] / (1 - std::pow(beta2, step));
    p[i] -= lr * (unbiasedM / (std::sqrt(unbiasedV) + epsilon) + weightDecay * p[i]);
  }
}
