// Launchers of softmax and of the pieces of cross-entropy.
#include "kernels/launch/Launch.h"

using namespace p3d;

void p3d_cuda_softmax(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, void *y, int64_t rows,
                      int64_t cols) {
  Launch launch(launcher, stream);
  if (launch.takes("softmax", dtype) && launch.fits("softmax", "columns", cols))
    launch.run(kernelFor("p3d_softmax", dtype), {rows}, rowThreads(dtype, cols, 1024), 0, x, y, int32_t(cols));
}

void p3d_cuda_softmax_grad(p3d_launcher *launcher, void *stream, int32_t dtype, const void *y, const void *dy, void *dx,
                           int64_t rows, int64_t cols) {
  Launch launch(launcher, stream);
  if (launch.takes("softmax_grad", dtype) && launch.fits("softmax_grad", "columns", cols))
    launch.run(kernelFor("p3d_softmax_grad", dtype), {rows}, rowThreads(dtype, cols, 1024), 0, y, dy, dx,
               int32_t(cols));
}

/// Columns of this shard that exist: those at or beyond `valid` in all are padding.
static int32_t existingColumns(int64_t cols, int64_t start, int64_t valid) {
  return static_cast<int32_t>(std::clamp<int64_t>(valid - start, 0, cols));
}

void p3d_cuda_cross_entropy_max(p3d_launcher *launcher, void *stream, int32_t dtype, const void *logits, float *max,
                                int64_t rows, int64_t cols, int64_t start, int64_t valid) {
  Launch launch(launcher, stream);
  if (launch.takes("cross_entropy_max", dtype) && launch.fits("cross_entropy_max", "columns", cols))
    launch.run(kernelFor("p3d_cross_entropy_max", dtype), {rows}, rowThreads(dtype, cols, 512), 0, logits, max,
               int32_t(cols), existingColumns(cols, start, valid));
}

void p3d_cuda_cross_entropy_sum(p3d_launcher *launcher, void *stream, int32_t dtype, const void *logits,
                                const int32_t *targets, const float *max, float *sum, float *target, int64_t rows,
                                int64_t cols, int64_t start, int64_t valid) {
  Launch launch(launcher, stream);
  if (launch.takes("cross_entropy_sum", dtype) && launch.fits("cross_entropy_sum", "columns", cols))
    launch.run(kernelFor("p3d_cross_entropy_sum", dtype), {rows}, rowThreads(dtype, cols, 512), 0, logits, targets, max,
               sum, target, int32_t(cols), existingColumns(cols, start, valid), start);
}

void p3d_cuda_cross_entropy_grad(p3d_launcher *launcher, void *stream, int32_t dtype, const void *logits,
                                 const int32_t *targets, const float *max, const float *sum, const float *dloss,
                                 void *dx, int64_t rows, int64_t cols, int64_t start, int64_t valid) {
  Launch launch(launcher, stream);
  if (launch.takes("cross_entropy_grad", dtype) && launch.fits("cross_entropy_grad", "columns", cols))
    launch.run(kernelFor("p3d_cross_entropy_grad", dtype), {rows}, rowThreads(dtype, cols, 512), 0, logits, targets,
               max, sum, dloss, dx, int32_t(cols), existingColumns(cols, start, valid), start);
}
