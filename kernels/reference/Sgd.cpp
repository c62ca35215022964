// Gradient descent with momentum.
#include "kernels/reference/Reference.h"

void reference::sgd(double *p, const double *g, double *momentumBuffer, int64_t count, double lr, double momentum,
                    double weightDecay, double gradScale) {
  for (int64_t i = 0; i < count; ++i) {
    double direction = g[i] * gradScale + weightDecay * p[i];
    if (momentumBuffer)
      direction = momentumBuffer[i] = momentum * momentumBuffer[i] + direction;
    p[i] -= lr * direction;
  }
}
