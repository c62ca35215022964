// Kernels that exercise the executor: each shows one thing that kernels do.
#include <cuda_bf16.h>

extern "C" __global__ void scale(float *y, const float *x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = factor * x[i];
}

/// Sums each block's elements: shuffles in the warp, shared memory between warps.
extern "C" __global__ void blockSum(float *sums, const float *x, int n) {
  __shared__ float partial[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = i < n ? x[i] : 0;
  for (int offset = 16; offset; offset /= 2)
    value += __shfl_xor_sync(0xffffffff, value, offset);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int warp = 0; warp < blockDim.x / 32; ++warp)
      sum += partial[warp];
    sums[blockIdx.x] = sum;
  }
}

/// Reverses each block through dynamic shared memory, beside a static variable.
extern "C" __global__ void reverse(int *x) {
  extern __shared__ int dynamic[];
  __shared__ int count;
  if (threadIdx.x == 0)
    count = blockDim.x;
  dynamic[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * blockDim.x + threadIdx.x] = dynamic[count - 1 - threadIdx.x];
}

/// One of each warp function.
extern "C" __global__ void warpFunctions(unsigned *out) {
  unsigned lane = threadIdx.x % 32, *row = out + threadIdx.x * 10;
  row[0] = __shfl_up_sync(~0u, lane, 3);
  row[1] = __shfl_down_sync(~0u, lane, 3);
  row[2] = __shfl_sync(~0u, lane, 5, 8);
  row[3] = __ballot_sync(~0u, lane % 3 == 0);
  row[4] = __any_sync(~0u, lane == 7);
  row[5] = __all_sync(~0u, lane < 31);
  row[6] = __nvvm_redux_sync_add(lane, ~0u); // clang-19's __reduce_add_sync swaps its arguments
  row[7] = __match_any_sync(~0u, lane / 4);
  row[8] = __syncthreads_count(lane < 5);
  row[9] = 0;
  if (lane < 16)
    row[9] = __shfl_xor_sync(0xffff, lane, 1); // half a warp
}

extern "C" __global__ void rounding(float *out, float a, float b, float c) {
  out[0] = __fmaf_rn(a, b, c);
  out[1] = __fmaf_rd(a, b, c);
  out[2] = __fmaf_ru(a, b, c);
  out[3] = __fmaf_rz(a, b, c);
  out[4] = __fadd_rd(a, c);
  out[5] = __fadd_ru(a, c);
  out[6] = __fdiv_rd(a, b);
  out[7] = __fdiv_ru(a, b);
}

extern "C" __global__ void functions(float *out, float x) {
  out[0] = expf(x);
  out[1] = tanhf(x);
  out[2] = rsqrtf(x);
  out[3] = __expf(x);
  out[4] = erff(x);
  out[5] = __uint_as_float(0x3f800000u);
}

extern "C" __global__ void roundToBf16(__nv_bfloat16 *out, const float *x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    out[i] = __float2bfloat16(x[i]);
    out[n + i] = __hadd(out[i], __float2bfloat16(1.0f));
  }
}

/// Counts in device memory, the last block (by an atomic ticket) adds up.
__device__ unsigned tickets;
extern "C" __global__ void atomicSum(float *sum, const float *x) {
  atomicAdd(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __threadfence();
  if (threadIdx.x == blockDim.x - 1 && atomicAdd(&tickets, 1u) == gridDim.x - 1) {
    sum[1] = gridDim.x;
    tickets = 0;
  }
}

struct Shape {
  int rows, columns;
  float values[5];
};
extern "C" __global__ void byValue(float *out, Shape shape) { out[0] = shape.rows * shape.columns + shape.values[4]; }

extern "C" __global__ void indices(int *out) {
  int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

extern "C" __global__ void __launch_bounds__(64) bounded(int *x) { x[threadIdx.x] = 1; }

extern "C" __global__ void manyBarriers(float *x, int count) {
  __shared__ float cell[1024];
  float value = threadIdx.x;
  for (int i = 0; i < count; ++i) {
    cell[threadIdx.x] = value;
    __syncthreads();
    value = cell[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
  }
  x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// What is wrong.
extern "C" __global__ void divergent(int *x, int n) {
  if (threadIdx.x < n)
    __syncthreads();
  x[threadIdx.x] = 1;
}
extern "C" __global__ void mixedWarp(int *x) {
  if (threadIdx.x < 8)
    x[threadIdx.x] = __shfl_sync(0xffffffff, 1, 0);
  else
    __syncthreads();
}
extern "C" __global__ void uninitialised(float *x) {
  __shared__ float cell[32];
  if (threadIdx.x == 0)
    cell[0] = 1;
  __syncthreads();
  x[threadIdx.x] = cell[threadIdx.x];
}
extern "C" __global__ void sharedBeyond(int *x, int at) {
  __shared__ int cell[32];
  cell[at] = 1;
  __syncthreads();
  x[threadIdx.x] = cell[threadIdx.x];
}
extern "C" __global__ void stores(float *x, int from, int to) {
  int i = from + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < to)
    x[i] = i;
}
extern "C" __global__ void asserts(int *x) {
  if (x[0] == 3)
    __trap();
}

/// Stores 16 bytes at once.
using Four = float __attribute__((ext_vector_type(4)));
extern "C" __global__ void storesWide(float *x, int at) { *reinterpret_cast<Four *>(x + at) = Four{1, 2, 3, 4}; }
