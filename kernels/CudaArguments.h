// Arguments that launchers hand to kernels by value, and tables in device memory: plain data, laid out alike for host
// and device.
#pragma once
#include <stdint.h>

/// Elements of a tensor that one block of an optimizer's or the norm's launch takes.
#define P3D_CUDA_TENSOR_BLOCK 4096

extern "C" {

/// One call of attention; see p3d_attention.
typedef struct {
  const float *mask;
  int64_t maskStrideBatch, maskStrideHead;
  int32_t maskStrideQuery, maskStrideKey; // one head's mask spans less than 2^31 elements
  int32_t s, t, h, hk, d;
  int32_t causal;
  float scale, maskedValue;
  int32_t aligned; // heads begin at multiples of 16 bytes and end at them
} p3d_attention_arguments;

/// One tensor of an optimizer's table. A null master: p is f32 and is the master. `second` is AdamW's v, unused in SGD;
/// `first` is AdamW's m or SGD's momentum buffer, null without one.
typedef struct {
  void *p;
  float *master;
  const void *g;
  float *first, *second;
  int64_t count;
  int64_t firstBlock; // of the launch; see p3d_cuda_number_blocks
  int32_t dtype;      // of p: P3D_F32, P3D_BF16 or P3D_F16
  float weightDecay;
  int32_t gradDtype;  // of g: P3D_F32 or P3D_BF16
} p3d_cuda_tensor;

/// What changes from step to step, in device memory, so that a captured graph can be replayed.
typedef struct {
  float lr, gradScale;
  float correction1, correction2; // AdamW: 1 / (1 - beta1^step), 1 / sqrt(1 - beta2^step)
} p3d_cuda_step;

/// A p3d_einsum_plan made ready: loops that walk over c come first, then those that add to it; strides in elements.
typedef struct {
  int32_t keptLoops, summedLoops;
  int64_t keptCount, summedCount; // products of extents
  int64_t extent[8], a[8], b[8], c[8];
  int64_t m, n, k, aM, aK, bK, bN, cM, cN;
  int32_t cIsF32, accumulate;
} p3d_cuda_einsum_arguments;

/// Five nested dimensions in bytes, the last of which is contiguous; from one index of another dimension to the next.
typedef struct {
  int64_t extent[5];
  int64_t source[4], target[4];
} p3d_cuda_box;

} // extern "C"
