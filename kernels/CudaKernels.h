// The CUDA forms of the kernels, as host code calls them: p3d_cuda_X does on a stream what p3d_X of Kernels.h does,
// with the same arguments; pointers are device pointers. Launchers return when the work is enqueued. They know neither
// the CUDA runtime nor the driver: a p3d_launcher does what they need, on the driver or on the emulator.
//
// Results are the same on every run on one device: no float atomics. What differs from the CPU forms: columns of a row,
// ids and head sizes count in 32 bits; attention takes heads of up to 128 columns, and rounds probabilities to the
// element type before they meet the values, as the tensor cores need; a mask spans less than 2^31 elements per head.
#pragma once
#include "kernels/CudaArguments.h"
#include "kernels/Kernels.h"

extern "C" {

typedef struct p3d_launcher {
  /// Enqueues a kernel by its name. More than 48 KB of shared memory must be allowed for the function first.
  /// `argumentBytes`: the sizes of the arguments, for a check.
  void (*launch)(struct p3d_launcher *self, const char *kernel, void *stream, const uint32_t grid[3],
                 const uint32_t block[3], uint32_t sharedBytes, void **arguments, const uint32_t *argumentBytes,
                 uint32_t argumentCount);
  /// Device memory at a multiple of 16 bytes, the caller's until its next call with this stream. How much a call needs
  /// is found by making it with a launcher that only records this.
  void *(*workspace)(struct p3d_launcher *self, void *stream, int64_t bytes);
  /// Takes the message of a call that has no kernel; nothing is launched if it returns.
  void (*refuse)(struct p3d_launcher *self, const char *message);
  int32_t multiprocessors;
  int32_t sharedBytesPerBlock; ///< the most that a block can have
} p3d_launcher;

// For plans that cuBLASLt cannot express; see Einsum.cu.
void p3d_cuda_einsum(p3d_launcher *launcher, void *stream, const p3d_einsum_plan *plan, int32_t dtype, int32_t cDtype,
                     const void *a, const void *b, void *c, int32_t accumulate);

void p3d_cuda_layer_norm(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t paramDtype, const void *x,
                         const void *scale, const void *bias, void *y, float *mean, float *rstd, int64_t rows,
                         int64_t cols, float epsilon);
void p3d_cuda_layer_norm_grad(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t paramDtype, const void *dy,
                              const void *x, const void *scale, const float *mean, const float *rstd, void *dx,
                              void *dscale, void *dbias, int64_t rows, int64_t cols);
void p3d_cuda_rms_norm(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t paramDtype, const void *x,
                       const void *scale, void *y, float *rstd, int64_t rows, int64_t cols, float epsilon);
void p3d_cuda_rms_norm_grad(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t paramDtype, const void *dy,
                            const void *x, const void *scale, const float *rstd, void *dx, void *dscale, int64_t rows,
                            int64_t cols);

void p3d_cuda_softmax(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, void *y, int64_t rows,
                      int64_t cols);
void p3d_cuda_softmax_grad(p3d_launcher *launcher, void *stream, int32_t dtype, const void *y, const void *dy, void *dx,
                           int64_t rows, int64_t cols);

void p3d_cuda_cross_entropy_max(p3d_launcher *launcher, void *stream, int32_t dtype, const void *logits, float *max,
                                int64_t rows, int64_t cols, int64_t start, int64_t valid);
void p3d_cuda_cross_entropy_sum(p3d_launcher *launcher, void *stream, int32_t dtype, const void *logits,
                                const int32_t *targets, const float *max, float *sum, float *target, int64_t rows,
                                int64_t cols, int64_t start, int64_t valid);
void p3d_cuda_cross_entropy_grad(p3d_launcher *launcher, void *stream, int32_t dtype, const void *logits,
                                 const int32_t *targets, const float *max, const float *sum, const float *dloss,
                                 void *dx, int64_t rows, int64_t cols, int64_t start, int64_t valid);

void p3d_cuda_attention(p3d_launcher *launcher, void *stream, int32_t dtype, const void *q, const void *k,
                        const void *v, const float *mask, const int64_t *maskStride, void *o, float *lse, int64_t b,
                        int64_t s, int64_t t, int64_t h, int64_t hk, int64_t d, float scale, int32_t causal,
                        float maskedValue);
void p3d_cuda_attention_grad(p3d_launcher *launcher, void *stream, int32_t dtype, const void *dO, const void *q,
                             const void *k, const void *v, const float *mask, const int64_t *maskStride, const void *o,
                             const float *lse, void *dq, void *dk, void *dv, int64_t b, int64_t s, int64_t t, int64_t h,
                             int64_t hk, int64_t d, float scale, int32_t causal, float maskedValue);

void p3d_cuda_gather(p3d_launcher *launcher, void *stream, int32_t elementBytes, int32_t idDtype, const void *x,
                     const void *ids, void *out, int64_t b, int64_t o, int64_t n, int64_t i, int64_t inner,
                     int64_t start);
void p3d_cuda_scatter_add(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t xDtype, int32_t idDtype,
                          const void *updates, const void *ids, void *x, int64_t b, int64_t o, int64_t n, int64_t i,
                          int64_t inner, int64_t start, int32_t accumulate);

void p3d_cuda_top_k(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, void *values, int32_t *indices,
                    int64_t rows, int64_t cols, int64_t k);
void p3d_cuda_sort(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, void *values, int32_t *indices,
                   int64_t rows, int64_t cols, int32_t descending);

void p3d_cuda_adamw(p3d_launcher *launcher, void *stream, int32_t dtype, void *p, float *master, const float *g,
                    float *m, float *v, int64_t count, int64_t step, float lr, float beta1, float beta2, float epsilon,
                    float weightDecay, float gradScale);
void p3d_cuda_sgd(p3d_launcher *launcher, void *stream, int32_t dtype, void *p, float *master, const float *g,
                  float *momentumBuffer, int64_t count, float lr, float momentum, float weightDecay, float gradScale);
// The sum goes to *result in device memory.
void p3d_cuda_squared_norm(p3d_launcher *launcher, void *stream, const float *x, int64_t count, double *result);

// ---- One launch over all parameters: `table` (and `step`) in device memory
// --------------------------------------------

/// Numbers the blocks of a table in host memory, before it is copied to the device; returns how many a launch has.
int64_t p3d_cuda_number_blocks(p3d_cuda_tensor *table, int32_t tensors);
/// AdamW's constants of step `step` (from 1), to be copied to the device.
p3d_cuda_step p3d_cuda_adamw_step(int64_t step, float lr, float beta1, float beta2, float gradScale);

void p3d_cuda_adamw_table(p3d_launcher *launcher, void *stream, const p3d_cuda_tensor *table, int32_t tensors,
                          int64_t blocks, const p3d_cuda_step *step, float beta1, float beta2, float epsilon);
void p3d_cuda_sgd_table(p3d_launcher *launcher, void *stream, const p3d_cuda_tensor *table, int32_t tensors,
                        int64_t blocks, const p3d_cuda_step *step, float momentum);
/// The sum of squares of all gradients.
void p3d_cuda_squared_norm_table(p3d_launcher *launcher, void *stream, const p3d_cuda_tensor *table, int32_t tensors,
                                 int64_t blocks, double *result);
/// step->gradScale = scale * min(1, maxNorm / (scale * sqrt(*squaredNorm))), on the device.
void p3d_cuda_clip_scale(p3d_launcher *launcher, void *stream, const double *squaredNorm, float maxNorm, float scale,
                         p3d_cuda_step *step);

// ---- Fused kernels without a CPU form
// ----------------------------------------------------------------------------------

// y = gelu(x + bias), x [rows, cols]; the exact form by the error function, else the tanh form. A null bias counts as
// 0.
void p3d_cuda_bias_gelu(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t biasDtype, const void *x,
                        const void *bias, void *y, int64_t rows, int64_t cols, int32_t isExact);
// dx (which may be dy), and dbias [cols] (of biasDtype, written) unless it is null.
void p3d_cuda_bias_gelu_grad(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t biasDtype, const void *dy,
                             const void *x, const void *bias, void *dx, void *dbias, int64_t rows, int64_t cols,
                             int32_t isExact);
// y = x + bias, which may be x; [rows, cols] and [cols].
void p3d_cuda_add_bias(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, const void *bias, void *y,
                       int64_t rows, int64_t cols);
// sums [cols] get the sums of the columns of x [rows, cols], added in f32; with `adds` they are added to.
void p3d_cuda_sum_rows(p3d_launcher *launcher, void *stream, int32_t dtype, int32_t sumDtype, const void *x, void *sums,
                       int64_t rows, int64_t cols, int32_t adds);
// The same of f32 of which there are few rows.
void p3d_cuda_sum_partials(p3d_launcher *launcher, void *stream, int32_t dtype, const float *partial, int64_t rows,
                           int64_t cols, void *sums, int32_t adds);
// y [rows, cols] = silu(gate) * up; rows of gate, up and of their gradients are `stride` elements apart.
void p3d_cuda_swiglu(p3d_launcher *launcher, void *stream, int32_t dtype, const void *gate, const void *up, void *y,
                     int64_t rows, int64_t cols, int64_t stride);
void p3d_cuda_swiglu_grad(p3d_launcher *launcher, void *stream, int32_t dtype, const void *dy, const void *gate,
                          const void *up, void *dgate, void *dup, int64_t rows, int64_t cols, int64_t stride);
// Rotates pairs of x [b,s,h,d] by tables [s, d/2]: (i, i + d/2), or (2i, 2i + 1) if interleaved; `inverse` rotates
// back, which is the gradient. y may be x.
void p3d_cuda_rope(p3d_launcher *launcher, void *stream, int32_t dtype, const void *x, const float *cosines,
                   const float *sines, void *y, int64_t b, int64_t s, int64_t h, int64_t d, int32_t isInterleaved,
                   int32_t inverse);

// ---- Layouts of collectives ---------------------------------------------------------------------------------------------

/// Copies `box` from `source` to `target`, which must not overlap. A box without elements is no launch.
void p3d_cuda_copy_box(p3d_launcher *launcher, void *stream, const p3d_cuda_box *box, const void *source, void *target);

} // extern "C"
