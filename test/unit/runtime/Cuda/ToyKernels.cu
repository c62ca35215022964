// The kernels of the toy program that an emitted object would bring itself. Arguments have 8 bytes.
#include "kernels/Device.cuh"

using namespace p3d;

// y += bias - t, and loss += sum(y^2) / 2, by one thread: the sum has one order.
P3D_KERNEL(32) toy_error(float *y, const float *bias, const float *t, float *loss, int64_t rows, int64_t columns) {
  if (threadIndex() != 0)
    return;
  for (int64_t i = 0; i < rows * columns; ++i) {
    y[i] += bias[i % columns] - t[i];
    *loss += y[i] * y[i] / 2;
  }
}

// sums[j] += scale[0] * sum over rows of y[.][j], a thread for each column.
P3D_KERNEL(32) toy_sum_rows(float *sums, const float *y, const float *scale, int64_t rows, int64_t columns) {
  if (threadIndex() >= columns)
    return;
  for (int64_t i = 0; i < rows; ++i)
    sums[threadIndex()] += scale[0] * y[i * columns + threadIndex()];
}
