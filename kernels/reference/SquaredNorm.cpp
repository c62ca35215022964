// The sum of squares.
#include "kernels/reference/Reference.h"

double reference::squaredNorm(const double *x, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += x[i] * x[i];
  return sum;
}
