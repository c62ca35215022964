// The functions of kernels/Kernels.h as a program for a device has them: the same names and arguments, device pointers,
// and work that is enqueued on the compute stream.
#include "runtime/Cuda/Current.h"
#include "runtime/Guard.h"

using namespace p3d;

/// Enqueues a kernel of CudaKernels.h.
template <typename Kernel, typename... Arguments> static void enqueue(Kernel kernel, Arguments... arguments) {
  guard(currentRank.context, [&] {
    CudaDevice &device = *currentRank.device;
    kernel(&device.launcher, device.streams.compute(), arguments...);
  });
}

extern "C" {

void p3d_einsum(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b, void *c,
                int32_t accumulate) {
  guard(currentRank.context, [&] { currentRank.device->einsum.run(plan, dtype, cDtype, a, b, c, accumulate); });
}

void p3d_einsum_epilogue(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b,
                         void *c, int32_t accumulate, int32_t epilogue, int64_t count, const void *bias, void *aux,
                         void *sums, int32_t addSums) {
  guard(currentRank.context, [&] {
    currentRank.device->einsum.run(plan, dtype, cDtype, a, b, c, accumulate,
                                   {epilogue, count, bias, aux, sums, addSums != 0});
  });
}

void p3d_layer_norm(int32_t dtype, int32_t paramDtype, const void *x, const void *scale, const void *bias, void *y,
                    float *mean, float *rstd, int64_t rows, int64_t cols, float epsilon) {
  enqueue(p3d_cuda_layer_norm, dtype, paramDtype, x, scale, bias, y, mean, rstd, rows, cols, epsilon);
}

void p3d_layer_norm_grad(int32_t dtype, int32_t paramDtype, const void *dy, const void *x, const void *scale,
                         const float *mean, const float *rstd, void *dx, void *dscale, void *dbias, int64_t rows,
                         int64_t cols) {
  enqueue(p3d_cuda_layer_norm_grad, dtype, paramDtype, dy, x, scale, mean, rstd, dx, dscale, dbias, rows, cols);
}

void p3d_rms_norm(int32_t dtype, int32_t paramDtype, const void *x, const void *scale, void *y, float *rstd,
                  int64_t rows, int64_t cols, float epsilon) {
  enqueue(p3d_cuda_rms_norm, dtype, paramDtype, x, scale, y, rstd, rows, cols, epsilon);
}

void p3d_rms_norm_grad(int32_t dtype, int32_t paramDtype, const void *dy, const void *x, const void *scale,
                       const float *rstd, void *dx, void *dscale, int64_t rows, int64_t cols) {
  enqueue(p3d_cuda_rms_norm_grad, dtype, paramDtype, dy, x, scale, rstd, dx, dscale, rows, cols);
}

void p3d_softmax(int32_t dtype, const void *x, void *y, int64_t rows, int64_t cols) {
  enqueue(p3d_cuda_softmax, dtype, x, y, rows, cols);
}

void p3d_softmax_grad(int32_t dtype, const void *y, const void *dy, void *dx, int64_t rows, int64_t cols) {
  enqueue(p3d_cuda_softmax_grad, dtype, y, dy, dx, rows, cols);
}

void p3d_cross_entropy_max(int32_t dtype, const void *logits, float *max, int64_t rows, int64_t cols, int64_t start,
                           int64_t valid) {
  enqueue(p3d_cuda_cross_entropy_max, dtype, logits, max, rows, cols, start, valid);
}

void p3d_cross_entropy_sum(int32_t dtype, const void *logits, const int32_t *targets, const float *max, float *sum,
                           float *target, int64_t rows, int64_t cols, int64_t start, int64_t valid) {
  enqueue(p3d_cuda_cross_entropy_sum, dtype, logits, targets, max, sum, target, rows, cols, start, valid);
}

void p3d_cross_entropy_grad(int32_t dtype, const void *logits, const int32_t *targets, const float *max,
                            const float *sum, const float *dloss, void *dx, int64_t rows, int64_t cols, int64_t start,
                            int64_t valid) {
  enqueue(p3d_cuda_cross_entropy_grad, dtype, logits, targets, max, sum, dloss, dx, rows, cols, start, valid);
}

void p3d_attention(int32_t dtype, const void *q, const void *k, const void *v, const float *mask,
                   const int64_t *maskStride, void *o, float *lse, int64_t b, int64_t s, int64_t t, int64_t h,
                   int64_t hk, int64_t d, float scale, int32_t causal, float maskedValue) {
  enqueue(p3d_cuda_attention, dtype, q, k, v, mask, maskStride, o, lse, b, s, t, h, hk, d, scale, causal, maskedValue);
}

void p3d_attention_grad(int32_t dtype, const void *dO, const void *q, const void *k, const void *v, const float *mask,
                        const int64_t *maskStride, const void *o, const float *lse, void *dq, void *dk, void *dv,
                        int64_t b, int64_t s, int64_t t, int64_t h, int64_t hk, int64_t d, float scale, int32_t causal,
                        float maskedValue) {
  enqueue(p3d_cuda_attention_grad, dtype, dO, q, k, v, mask, maskStride, o, lse, dq, dk, dv, b, s, t, h, hk, d, scale,
          causal, maskedValue);
}

void p3d_gather(int32_t elementBytes, int32_t idDtype, const void *x, const void *ids, void *out, int64_t b, int64_t o,
                int64_t n, int64_t i, int64_t inner, int64_t start) {
  enqueue(p3d_cuda_gather, elementBytes, idDtype, x, ids, out, b, o, n, i, inner, start);
}

void p3d_scatter_add(int32_t dtype, int32_t xDtype, int32_t idDtype, const void *updates, const void *ids, void *x,
                     int64_t b, int64_t o, int64_t n, int64_t i, int64_t inner, int64_t start, int32_t accumulate) {
  enqueue(p3d_cuda_scatter_add, dtype, xDtype, idDtype, updates, ids, x, b, o, n, i, inner, start, accumulate);
}

void p3d_top_k(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols, int64_t k) {
  enqueue(p3d_cuda_top_k, dtype, x, values, indices, rows, cols, k);
}

void p3d_sort(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols,
              int32_t descending) {
  enqueue(p3d_cuda_sort, dtype, x, values, indices, rows, cols, descending);
}

} // extern "C"
