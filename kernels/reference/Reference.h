// Every kernel of kernels/Kernels.h, and those that only CUDA has, in double precision, in its plainest form: what the kernels mean, and what their
// tests compare with. The arguments are those of the kernel named alike (p3d_layer_norm: reference::layerNorm), without
// element types; an id is i64.
#pragma once
#include "kernels/Kernels.h"

namespace reference {

void einsum(const p3d_einsum_plan &plan, const double *a, const double *b, double *c, bool accumulate);

void layerNorm(const double *x, const double *scale, const double *bias, double *y, double *mean, double *rstd,
               int64_t rows, int64_t cols, double epsilon);
void layerNormGrad(const double *dy, const double *x, const double *scale, const double *mean, const double *rstd,
                   double *dx, double *dscale, double *dbias, int64_t rows, int64_t cols);
void rmsNorm(const double *x, const double *scale, double *y, double *rstd, int64_t rows, int64_t cols, double epsilon);
void rmsNormGrad(const double *dy, const double *x, const double *scale, const double *rstd, double *dx, double *dscale,
                 int64_t rows, int64_t cols);

void softmax(const double *x, double *y, int64_t rows, int64_t cols);
void softmaxGrad(const double *y, const double *dy, double *dx, int64_t rows, int64_t cols);

void crossEntropyMax(const double *logits, double *max, int64_t rows, int64_t cols, int64_t start, int64_t valid);
void crossEntropySum(const double *logits, const int32_t *targets, const double *max, double *sum, double *target,
                     int64_t rows, int64_t cols, int64_t start, int64_t valid);
void crossEntropyGrad(const double *logits, const int32_t *targets, const double *max, const double *sum,
                      const double *dloss, double *dx, int64_t rows, int64_t cols, int64_t start, int64_t valid);

/// The sizes and the masking of attention; see p3d_attention.
struct AttentionShape {
  int64_t b, s, t, h, hk, d;
  double scale;
  bool causal;
  double maskedValue;
  const double *mask;
  const int64_t *maskStride;
};
void attention(const AttentionShape &shape, const double *q, const double *k, const double *v, double *o, double *lse);
void attentionGrad(const AttentionShape &shape, const double *dO, const double *q, const double *k, const double *v,
                   const double *o, double *dq, double *dk, double *dv);

void gather(const double *x, const int64_t *ids, double *out, int64_t b, int64_t o, int64_t n, int64_t i, int64_t inner,
            int64_t start);
void scatterAdd(const double *updates, const int64_t *ids, double *x, int64_t b, int64_t o, int64_t n, int64_t i,
                int64_t inner, int64_t start, bool accumulate);

void topK(const double *x, double *values, int32_t *indices, int64_t rows, int64_t cols, int64_t k);
void sort(const double *x, double *values, int32_t *indices, int64_t rows, int64_t cols, bool descending);

void adamw(double *p, const double *g, double *m, double *v, int64_t count, int64_t step, double lr, double beta1,
           double beta2, double epsilon, double weightDecay, double gradScale);
void sgd(double *p, const double *g, double *momentumBuffer, int64_t count, double lr, double momentum,
         double weightDecay, double gradScale);
double squaredNorm(const double *x, int64_t count);

void biasGelu(const double *x, const double *bias, double *y, int64_t rows, int64_t cols, bool isExact);
void biasGeluGrad(const double *dy, const double *x, const double *bias, double *dx, double *dbias, int64_t rows,
                  int64_t cols, bool isExact);
void swiglu(const double *gate, const double *up, double *y, int64_t rows, int64_t cols, int64_t stride);
void swigluGrad(const double *dy, const double *gate, const double *up, double *dgate, double *dup, int64_t rows,
                int64_t cols, int64_t stride);
void rope(const double *x, const double *cosines, const double *sines, double *y, int64_t b, int64_t s, int64_t h,
          int64_t d, bool isInterleaved, bool inverse);

} // namespace reference
