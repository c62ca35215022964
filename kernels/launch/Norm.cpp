// Launchers of layer norm and RMS norm.
#include "kernels/launch/Launch.h"

using namespace p3d;

void p3d_cuda_layer_norm(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t paramDtype, const void *x,
                         const void *scale, const void *bias, void *y, float *mean, float *rstd, int64_t rows,
                         int64_t cols, float epsilon) {
  Launch launch(launcher, stream);
  if (!launch.takesParameter("layer_norm", dtype, paramDtype) || !launch.fits("layer_norm", "columns", cols))
    return;
  launch.run(kernelFor("p3d_layer_norm", dtype), {rows}, rowThreads(dtype, cols, 1024), 0, x, scale, bias,
             int32_t(paramDtype == P3D_F32), y, mean, rstd, int32_t(cols), epsilon);
}

void p3d_cuda_rms_norm(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t paramDtype, const void *x,
                       const void *scale, void *y, float *rstd, int64_t rows, int64_t cols, float epsilon) {
  Launch launch(launcher, stream);
  if (!launch.takesParameter("rms_norm", dtype, paramDtype) || !launch.fits("rms_norm", "columns", cols))
    return;
  launch.run(kernelFor("p3d_rms_norm", dtype), {rows}, rowThreads(dtype, cols, 1024), 0, x, scale,
             int32_t(paramDtype == P3D_F32), y, rstd, int32_t(cols), epsilon);
}

namespace {
/// The sums of a norm's parameter gradients: how many blocks there are and where each has its sums.
struct GradPlan {
  GradPlan(Launch &launch, int32_t dtype, int64_t rows, int64_t cols, int count)
      : threads(rowThreads(dtype, cols, 512)),
        blocks(std::min<int64_t>(rows, int64_t(launch.multiprocessors()) * std::max<int64_t>(1, 1024 / threads))),
        partial(count && rows ? static_cast<float *>(launch.workspace(count * blocks * cols * 4)) : nullptr),
        sharedBytes(partial && count * cols * 4 <= largestShared ? count * cols * 4 : 0) {}

  /// Beyond this too few blocks fit on a multiprocessor; the sums then lie in the second-level cache.
  static constexpr int64_t largestShared = 64 * 1024;
  uint32_t threads;
  int64_t blocks;
  float *partial;
  int64_t sharedBytes;
};
} // namespace

/// Adds the blocks' sums up; without rows the sums are 0.
static void finishGrads(Launch &launch, const GradPlan &plan, int32_t paramDtype, int64_t cols, void *first,
                        void *second, int count) {
  if (first || second)
    launch.runBlocks(kernelFor("p3d_sum_partials", paramDtype), {ceilDivide(cols, 32), count}, 32, 8, 0,
                     static_cast<const float *>(plan.partial), int32_t(plan.blocks), int32_t(cols), first, second,
                     int32_t(0));
}

void p3d_cuda_layer_norm_grad(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t paramDtype, const void *dy,
                              const void *x, const void *scale, const float *mean, const float *rstd, void *dx,
                              void *dscale, void *dbias, int64_t rows, int64_t cols) {
  Launch launch(launcher, stream);
  if (!launch.takesParameter("layer_norm_grad", dtype, paramDtype) || !launch.fits("layer_norm_grad", "columns", cols))
    return;
  GradPlan plan(launch, dtype, rows, cols, dscale || dbias ? 2 : 0);
  launch.run(kernelFor("p3d_layer_norm_grad", dtype), {plan.blocks}, plan.threads, plan.sharedBytes, dy, x, scale,
             int32_t(paramDtype == P3D_F32), mean, rstd, dx, plan.partial, int32_t(plan.sharedBytes > 0), rows,
             int32_t(cols));
  finishGrads(launch, plan, paramDtype, cols, dscale, dbias, 2);
}

void p3d_cuda_rms_norm_grad(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t paramDtype, const void *dy,
                            const void *x, const void *scale, const float *rstd, void *dx, void *dscale, int64_t rows,
                            int64_t cols) {
  Launch launch(launcher, stream);
  if (!launch.takesParameter("rms_norm_grad", dtype, paramDtype) || !launch.fits("rms_norm_grad", "columns", cols))
    return;
  GradPlan plan(launch, dtype, rows, cols, dscale ? 1 : 0);
  launch.run(kernelFor("p3d_rms_norm_grad", dtype), {plan.blocks}, plan.threads, plan.sharedBytes, dy, x, scale,
             int32_t(paramDtype == P3D_F32), rstd, dx, plan.partial, int32_t(plan.sharedBytes > 0), rows,
             int32_t(cols));
  finishGrads(launch, plan, paramDtype, cols, dscale, nullptr, 1);
}
