// The kernels that a code generator should not write, C ABI, as emitted code and the runtime call them.
//
// `dtype` is the element type of the tensors: P3D_F32, P3D_BF16 or P3D_F16 unless a kernel says more; another one ends
// the program with a message. Statistics and arithmetic are f32, a 16-bit result is rounded once, to nearest even.
// Tensors are dense and row-major. Results are the same on every run. In row-wise kernels (norms, softmax,
// cross_entropy_grad) an output may be an input of the same shape. Each has a double-precision reference in
// kernels/reference (p3d_layer_norm: reference::layerNorm).
#pragma once
#include "runtime/include/p3d/runtime.h"

extern "C" {

// Kernels of this process work with so many threads (1 until this is called); results are the same to the bit.
void p3d_set_threads(int32_t threads);
// Calls body(arguments, begin, end) for parts that make up [0, count) and begin at multiples of `grain`, on all threads.
typedef void (*p3d_part)(void *const *arguments, int64_t begin, int64_t end);
void p3d_parallel(p3d_part body, void *const *arguments, int64_t count, int64_t grain);

// One einsum as strided matrix products: for every index of `loops` (outermost first; extent, and element strides of a,
// b, c): C[M,N] (=|+=) A[M,K] B[K,N] with A at m*aM + k*aK and so on, strides in elements. A loop whose c stride is 0
// adds to C; C is written (or, with `accumulate`, added to: gradient accumulators) once in all. Any strides of a and b
// are right, 0 and negative ones too; those of c must not let two results overlap. Unit strides are fast, and loops
// that could be part of M, N or K become so: emit whatever loops are easiest. An empty sum is 0.
typedef struct {
  int32_t loopCount;
  int64_t extent[8], aLoop[8], bLoop[8], cLoop[8];
  int64_t m, n, k;
  int64_t aM, aK, bK, bN, cM, cN;
} p3d_einsum_plan;
// c may be of another type than a and b (cDtype); products are summed in f32 over all loops and rounded once.
void p3d_einsum(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b, void *c,
                int32_t accumulate);

// The same with an epilogue, only on a device. Vectors have `count` elements and lie along the last dimensions of c,
// for the sums of an operand along its last; they and aux have c's type. BIAS: c is the product plus bias. BIAS_GELU: c
// is the gelu (by tanh) of that, which aux keeps unless it is null. GELU_GRAD: c is the product times the derivative of
// gelu at aux; sums, unless null, get c summed over its rows. SUM_A, SUM_B: c is the product, and sums gets a or b
// summed over k. Sums are written or, with addSums, added to.
typedef enum {
  P3D_EPILOGUE_BIAS = 1,
  P3D_EPILOGUE_BIAS_GELU = 2,
  P3D_EPILOGUE_GELU_GRAD = 3,
  P3D_EPILOGUE_SUM_A = 4,
  P3D_EPILOGUE_SUM_B = 5
} p3d_epilogue;
void p3d_einsum_epilogue(const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype, const void *a, const void *b,
                         void *c, int32_t accumulate, int32_t epilogue, int64_t count, const void *bias, void *aux,
                         void *sums, int32_t addSums);

// y = (x - mean) * rstd * scale + bias over rows of `cols`; mean, rstd: [rows]. A null scale counts as 1, a null bias
// as 0; gradients that are null are not written.
void p3d_layer_norm(int32_t dtype, int32_t paramDtype, const void *x, const void *scale, const void *bias, void *y,
                    float *mean, float *rstd, int64_t rows, int64_t cols, float epsilon);
// dx, dscale [cols], dbias [cols] (dscale and dbias are written, not added to).
void p3d_layer_norm_grad(int32_t dtype, int32_t paramDtype, const void *dy, const void *x, const void *scale,
                         const float *mean, const float *rstd, void *dx, void *dscale, void *dbias, int64_t rows,
                         int64_t cols);
void p3d_rms_norm(int32_t dtype, int32_t paramDtype, const void *x, const void *scale, void *y, float *rstd,
                  int64_t rows, int64_t cols, float epsilon);
void p3d_rms_norm_grad(int32_t dtype, int32_t paramDtype, const void *dy, const void *x, const void *scale,
                       const float *rstd, void *dx, void *dscale, int64_t rows, int64_t cols);

// Softmax over the last dimension; a row of -inf gives zeros. softmax_grad: dx = y * (dy - sum(dy*y)).
void p3d_softmax(int32_t dtype, const void *x, void *y, int64_t rows, int64_t cols);
void p3d_softmax_grad(int32_t dtype, const void *y, const void *dy, void *dx, int64_t rows, int64_t cols);

// Vocabulary-parallel softmax-cross-entropy in three pieces around the two reductions over tp that the caller does.
// The shard holds columns [start, start+cols) of `valid` in all: columns at or beyond `valid` are left out.
// 1: max over the shard. 2: sum of exp(x - max), and the target's logit (0 where another shard has it).
// After reducing: loss = log(sum) + max - target. 3: dx = dloss * (exp(x - max)/sum - onehot), 0 in padding columns. A
// row of -inf gives max -inf, sum 0, and no probability in dx. A target outside [0, valid) belongs to no shard.
void p3d_cross_entropy_max(int32_t dtype, const void *logits, float *max, int64_t rows, int64_t cols, int64_t start,
                           int64_t valid);
void p3d_cross_entropy_sum(int32_t dtype, const void *logits, const int32_t *targets, const float *max, float *sum,
                           float *target, int64_t rows, int64_t cols, int64_t start, int64_t valid);
void p3d_cross_entropy_grad(int32_t dtype, const void *logits, const int32_t *targets, const float *max,
                            const float *sum, const float *dloss, void *dx, int64_t rows, int64_t cols, int64_t start,
                            int64_t valid);

// Attention over q [b,s,h,d], k and v [b,t,hk,d] (h a multiple of hk: query head i reads key head i/(h/hk)), o
// [b,s,h,d], lse [b,h,s] (log of the sum of exponentials of the scaled, masked scores). causal: query i sees keys <= i
// + t - s. mask: null, or an additive f32 mask with element strides maskStride[4] over (b,h,s,t), 0 where it is
// broadcast. `maskedValue`: what a causally hidden score is replaced by before the softmax (-inf, or the finite value
// of the model); hidden scores have no gradient. Where all scores of a query are -inf, o and its part of the gradients
// are 0, lse is -inf. No more than O(t*d) of scratch.
void p3d_attention(int32_t dtype, const void *q, const void *k, const void *v, const float *mask,
                   const int64_t *maskStride, void *o, float *lse, int64_t b, int64_t s, int64_t t, int64_t h,
                   int64_t hk, int64_t d, float scale, int32_t causal, float maskedValue);
void p3d_attention_grad(int32_t dtype, const void *dO, const void *q, const void *k, const void *v, const float *mask,
                        const int64_t *maskStride, const void *o, const float *lse, void *dq, void *dk, void *dv,
                        int64_t b, int64_t s, int64_t t, int64_t h, int64_t hk, int64_t d, float scale, int32_t causal,
                        float maskedValue);

// gather: out[b][o][i][inner] = x[b][o][clamp(ids[b][i] - start)][inner], x [b][o][n][inner], ids [b][i]. An id outside
// [start, start+n) gives zeros when `start` >= 0 (a shard of the gathered dimension), and is clamped when start = -1.
// idDtype is P3D_I32, P3D_I64 or P3D_UI32; elementBytes is the size of an element of any type.
void p3d_gather(int32_t elementBytes, int32_t idDtype, const void *x, const void *ids, void *out, int64_t b, int64_t o,
                int64_t n, int64_t i, int64_t inner, int64_t start);
// x[b][o][ids[b][i] - start][inner] += updates[b][o][i][inner], x set to zero first unless accumulate; an id outside
// adds nothing, or is clamped when start = -1. Sums are f32, in the order of i, and rounded to xDtype once.
void p3d_scatter_add(int32_t dtype, int32_t xDtype, int32_t idDtype, const void *updates, const void *ids, void *x,
                     int64_t b, int64_t o, int64_t n, int64_t i, int64_t inner, int64_t start, int32_t accumulate);

// The k largest of each row (k <= cols), largest first, equal values in the order of their index; indices i32. dtype
// may also be P3D_I32, P3D_I64 or P3D_UI32, here and in sort. NaN is the largest value, -0 equals 0.
void p3d_top_k(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols, int64_t k);
// Stable ascending (or descending) sort of each row; indices i32 (the permutation) may be null.
void p3d_sort(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols,
              int32_t descending);

// AdamW with decoupled decay (Loshchilov, Hutter 2019); step counts from 1; g is multiplied by gradScale first.
// master null: p is f32 and is the master; else p becomes the rounded master. f32 arithmetic.
void p3d_adamw(int32_t dtype, void *p, float *master, const float *g, float *m, float *v, int64_t count, int64_t step,
               float lr, float beta1, float beta2, float epsilon, float weightDecay, float gradScale);
// u = g * gradScale + weightDecay * p; with a momentumBuffer u = buffer = momentum * buffer + u; p -= lr * u (as
// PyTorch). momentumBuffer null: no momentum. master as in adamw.
void p3d_sgd(int32_t dtype, void *p, float *master, const float *g, float *momentumBuffer, int64_t count, float lr,
             float momentum, float weightDecay, float gradScale);
// Sum of squares in double.
double p3d_squared_norm(const float *x, int64_t count);
}
