// Launchers of the fused element-wise kernels: bias and GELU, SwiGLU, rotary embedding.
#include "kernels/launch/Launch.h"

using namespace p3d;

/// Groups of columns, and as many groups of rows as fill the device.
static Grid columnGrid(const Launch &launch, int32_t dtype, int64_t rows, int64_t cols) {
  int64_t x = ceilDivide(ceilDivide(cols, chunkElements(dtype)), 128);
  return {x, std::clamp<int64_t>(int64_t(launch.multiprocessors()) * 8 / std::max<int64_t>(1, x), 1,
                                 std::min<int64_t>(std::max<int64_t>(1, rows), 65535))};
}

void p3d_cuda_bias_gelu(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t biasDtype, const void *x,
                        const void *bias, void *y, int64_t rows, int64_t cols, int32_t isExact) {
  Launch launch(launcher, stream);
  if (launch.takesParameter("bias_gelu", dtype, biasDtype) && launch.fits("bias_gelu", "columns", cols))
    launch.run(kernelFor("p3d_bias_gelu", dtype), columnGrid(launch, dtype, rows, cols), 128, 0, x, bias,
               int32_t(biasDtype == P3D_F32), y, rows, int32_t(cols), isExact);
}

void p3d_cuda_bias_gelu_grad(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t biasDtype, const void *dy,
                             const void *x, const void *bias, void *dx, void *dbias, int64_t rows, int64_t cols,
                             int32_t isExact) {
  Launch launch(launcher, stream);
  if (!launch.takesParameter("bias_gelu_grad", dtype, biasDtype) || !launch.fits("bias_gelu_grad", "columns", cols))
    return;
  Grid grid = columnGrid(launch, dtype, rows, cols);
  auto *partial = dbias ? static_cast<float *>(launch.workspace(grid.y * cols * 4)) : nullptr;
  launch.run(kernelFor("p3d_bias_gelu_grad", dtype), grid, 128, 0, dy, x, bias, int32_t(biasDtype == P3D_F32), dx,
             partial, rows, int32_t(cols), isExact);
  if (dbias)
    launch.runBlocks(kernelFor("p3d_sum_partials", biasDtype), {ceilDivide(cols, 32)}, 32, 8, 0,
                     static_cast<const float *>(partial), int32_t(grid.y), int32_t(cols), dbias,
                     static_cast<void *>(nullptr), int32_t(0));
}

void p3d_cuda_add_bias(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, const void *bias, void *y,
                       int64_t rows, int64_t cols) {
  Launch launch(launcher, stream);
  if (launch.takes("add_bias", dtype) && launch.fits("add_bias", "columns", cols))
    launch.run(kernelFor("p3d_add_bias", dtype), columnGrid(launch, dtype, rows, cols), 128, 0, x, bias, y, rows,
               int32_t(cols));
}

void p3d_cuda_sum_rows(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t sumDtype, const void *x, void *sums,
                       int64_t rows, int64_t cols, int32_t adds) {
  Launch launch(launcher, stream);
  if (!launch.takes("sum_rows", dtype) || !launch.takes("sum_rows", sumDtype) ||
      !launch.fits("sum_rows", "columns", cols))
    return;
  Grid grid = columnGrid(launch, dtype, rows, cols);
  auto *partial = static_cast<float *>(launch.workspace(grid.y * cols * 4));
  launch.run(kernelFor("p3d_column_sums", dtype), grid, 128, 0, x, partial, rows, int32_t(cols));
  p3d_cuda_sum_partials(launcher, stream, sumDtype, partial, grid.y, cols, sums, adds);
}

void p3d_cuda_sum_partials(p3d_launcher *launcher, void *stream, int32_t dtype, const float *partial, int64_t rows,
                           int64_t cols, void *sums, int32_t adds) {
  Launch launch(launcher, stream);
  launch.runBlocks(kernelFor("p3d_sum_partials", dtype), {ceilDivide(cols, 32)}, 32, 8, 0, partial, int32_t(rows),
                   int32_t(cols), sums, static_cast<void *>(nullptr), adds);
}

void p3d_cuda_swiglu(p3d_launcher *launcher, void *stream, int32_t dtype, const void *gate, const void *up, void *y,
                     int64_t rows, int64_t cols, int64_t stride) {
  Launch launch(launcher, stream);
  if (launch.takes("swiglu", dtype) && launch.fits("swiglu", "columns", cols))
    launch.run(kernelFor("p3d_swiglu", dtype), loopGrid(launch, rows * ceilDivide(cols, chunkElements(dtype)), 256),
               256, 0, gate, up, y, rows, int32_t(cols), stride);
}

void p3d_cuda_swiglu_grad(p3d_launcher *launcher, void *stream, int32_t dtype, const void *dy, const void *gate,
                          const void *up, void *dgate, void *dup, int64_t rows, int64_t cols, int64_t stride) {
  Launch launch(launcher, stream);
  if (launch.takes("swiglu_grad", dtype) && launch.fits("swiglu_grad", "columns", cols))
    launch.run(kernelFor("p3d_swiglu_grad", dtype),
               loopGrid(launch, rows * ceilDivide(cols, chunkElements(dtype)), 256), 256, 0, dy, gate, up, dgate, dup,
               rows, int32_t(cols), stride);
}

void p3d_cuda_rope(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, const float *cosines,
                   const float *sines, void *y, int64_t b, int64_t s, int64_t h, int64_t d, int32_t isInterleaved,
                   int32_t inverse) {
  Launch launch(launcher, stream);
  if (!launch.takes("rope", dtype) || !launch.fits("rope", "positions", s))
    return;
  int64_t pairs = b * s * h * (d / 2);
  launch.run(kernelFor("p3d_rope", dtype), loopGrid(launch, pairs, 256), 256, 0, x, cosines, sines, y, pairs,
             int32_t(s), int32_t(h), int32_t(d / 2), isInterleaved, inverse ? -1.f : 1.f);
}
