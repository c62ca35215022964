// Launchers of gather, scatter_add, sort and top_k.
#include "kernels/launch/Launch.h"

using namespace p3d;

static bool takesIds(Launch &launch, const char *kernel, int32_t dtype) {
  return dtype == P3D_I32 || dtype == P3D_I64 || dtype == P3D_UI32 ||
         launch.refuse(std::string(kernel) + " has no form for ids of element type " + std::to_string(dtype));
}

void p3d_cuda_gather(p3d_launcher *launcher, void *stream, int32_t elementBytes, int32_t idDtype, const void *x,
                     const void *ids, void *out, int64_t b, int64_t o, int64_t n, int64_t i, int64_t inner,
                     int64_t start) {
  Launch launch(launcher, stream);
  if (!takesIds(launch, "gather", idDtype))
    return;
  int64_t rowBytes = inner * elementBytes, unit = 16;
  uintptr_t places = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(out);
  while (rowBytes % unit || places % unit)
    unit /= 2;
  int64_t total = b * o * i * (rowBytes / unit);
  launch.run("p3d_gather_" + std::to_string(unit), loopGrid(launch, total, 256), 256, 0, ids, idDtype, n, start, x, out,
             o, i, rowBytes / unit, total);
}

void p3d_cuda_scatter_add(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t xDtype, int32_t idDtype,
                          const void *updates, const void *ids, void *x, int64_t b, int64_t o, int64_t n, int64_t i,
                          int64_t inner, int64_t start, int32_t accumulate) {
  Launch launch(launcher, stream);
  if (!launch.takesParameter("scatter_add", dtype, xDtype) || !takesIds(launch, "scatter_add", idDtype) ||
      !launch.fits("scatter_add", "ids", i) || !launch.fits("scatter_add", "rows", n) ||
      !launch.fits("scatter_add", "columns", inner))
    return;
  int64_t bytes = b * o * n * inner * elementBytes(xDtype);
  if (!accumulate)
    launch.run("p3d_zero", loopGrid(launch, ceilDivide(bytes, 16), 256), 256, 0, x, bytes);
  if (n == 0 || i == 0 || b == 0)
    return;
  auto *order = static_cast<int32_t *>(launch.workspace(2 * b * i * 4));
  auto *rows = reinterpret_cast<uint32_t *>(order + b * i);
  launch.run("p3d_scatter_order", {ceilDivide(i, 256), b}, 256, 0, ids, idDtype, n, start, int32_t(i), order, rows);
  int64_t chunks = ceilDivide(inner, chunkElements(dtype));
  auto threads = static_cast<uint32_t>(std::clamp<int64_t>(ceilDivide(chunks, 32) * 32, 32, 256));
  launch.run(kernelFor("p3d_scatter_add", dtype), {i, ceilDivide(chunks, threads), std::min<int64_t>(b * o, 65535)},
             threads, 0, updates, static_cast<const int32_t *>(order), static_cast<const uint32_t *>(rows), x,
             int32_t(xDtype == P3D_F32), b * o, o, n, int32_t(i), int32_t(inner));
}

static bool takesKeys(Launch &launch, const char *kernel, int32_t dtype) {
  return dtype == P3D_I32 || dtype == P3D_I64 || dtype == P3D_UI32 || launch.takes(kernel, dtype);
}

/// The first k of each sorted row, by counting.
static void sortRows(Launch &launch, int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows,
                     int64_t cols, int64_t k, bool descending) {
  int64_t blocksPerRow = ceilDivide(cols, 256);
  launch.run(kernelFor("p3d_sort", dtype), {rows * blocksPerRow}, 256, 0, x, values, indices, int32_t(cols), int32_t(k),
             int32_t(descending), int32_t(blocksPerRow));
}

void p3d_cuda_sort(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, void *values, int32_t *indices,
                   int64_t rows, int64_t cols, int32_t descending) {
  Launch launch(launcher, stream);
  if (takesKeys(launch, "sort", dtype) && launch.fits("sort", "columns", cols))
    sortRows(launch, dtype, x, values, indices, rows, cols, cols, descending != 0);
}

void p3d_cuda_top_k(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, void *values, int32_t *indices,
                    int64_t rows, int64_t cols, int64_t k) {
  constexpr int64_t fewEnough = 16; // for as many passes over a row
  Launch launch(launcher, stream);
  if (!takesKeys(launch, "top_k", dtype) || !launch.fits("top_k", "columns", cols))
    return;
  k = std::min(k, cols);
  if (k <= fewEnough && dtype != P3D_I64)
    launch.run(kernelFor("p3d_top_k", dtype), {ceilDivide(rows, 4)}, 128, 0, x, values, indices, rows, int32_t(cols),
               int32_t(k));
  else
    sortRows(launch, dtype, x, values, indices, rows, cols, k, /*descending=*/true);
}
