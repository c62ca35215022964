// What the CUDA kernels take from the device: indices, barriers, shuffles, 16-bit conversions, exponentials. Each
// primitive has a fast form (PTX or a CUDA intrinsic) and a portable one (P3D_PORTABLE: clang without CUDA headers, a
// handful of nvvm intrinsics and no inline assembly) that gives the same numbers in the same lanes, so that the
// emulated driver runs the very kernels that go to the cluster. Tensor-core products and asynchronous copies:
// Matrix.cuh.
#pragma once
#include <stdint.h>

#ifdef P3D_PORTABLE
#define P3D_DEVICE inline __attribute__((device)) __attribute__((always_inline))
#define P3D_SHARED __attribute__((shared))
#define P3D_KERNEL(threads) extern "C" __attribute__((global)) __attribute__((launch_bounds(threads))) void
#define P3D_KERNEL_BLOCKS(threads, blocks) P3D_KERNEL(threads)
// Unrolling keeps arrays in registers; on a host it would only make code that takes long to compile.
#define P3D_UNROLL _Pragma("nounroll")
#define P3D_NO_UNROLL _Pragma("nounroll")
#else
#define P3D_UNROLL _Pragma("unroll")
#define P3D_NO_UNROLL _Pragma("unroll 1")
#define P3D_DEVICE __device__ __forceinline__
#define P3D_SHARED __shared__
#define P3D_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
/// Registers are given out for at least `blocks` blocks on a multiprocessor.
#define P3D_KERNEL_BLOCKS(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#endif

namespace p3d {

constexpr int warpThreads = 32;
constexpr float negativeInfinity = -__builtin_huge_valf();

// ---- Indices ------------------------------------------------------------------------------------------------------

#ifdef P3D_PORTABLE
P3D_DEVICE int threadIndex() { return __nvvm_read_ptx_sreg_tid_x(); }
P3D_DEVICE int threadIndexY() { return __nvvm_read_ptx_sreg_tid_y(); }
P3D_DEVICE int threadCount() { return __nvvm_read_ptx_sreg_ntid_x(); }
P3D_DEVICE int blockIndex() { return __nvvm_read_ptx_sreg_ctaid_x(); }
P3D_DEVICE int blockIndexY() { return __nvvm_read_ptx_sreg_ctaid_y(); }
P3D_DEVICE int blockIndexZ() { return __nvvm_read_ptx_sreg_ctaid_z(); }
P3D_DEVICE int blockCount() { return __nvvm_read_ptx_sreg_nctaid_x(); }
P3D_DEVICE int blockCountY() { return __nvvm_read_ptx_sreg_nctaid_y(); }
P3D_DEVICE int blockCountZ() { return __nvvm_read_ptx_sreg_nctaid_z(); }
#else
P3D_DEVICE int threadIndex() { return threadIdx.x; }
P3D_DEVICE int threadIndexY() { return threadIdx.y; }
P3D_DEVICE int threadCount() { return blockDim.x; }
P3D_DEVICE int blockIndex() { return blockIdx.x; }
P3D_DEVICE int blockIndexY() { return blockIdx.y; }
P3D_DEVICE int blockIndexZ() { return blockIdx.z; }
P3D_DEVICE int blockCount() { return gridDim.x; }
P3D_DEVICE int blockCountY() { return gridDim.y; }
P3D_DEVICE int blockCountZ() { return gridDim.z; }
#endif
P3D_DEVICE int laneIndex() { return threadIndex() % warpThreads; }
P3D_DEVICE int warpIndex() { return threadIndex() / warpThreads; }
/// Of a grid of one dimension.
P3D_DEVICE int64_t globalThread() { return static_cast<int64_t>(blockIndex()) * threadCount() + threadIndex(); }
P3D_DEVICE int64_t globalThreads() { return static_cast<int64_t>(blockCount()) * threadCount(); }

// ---- Barriers and shuffles: every thread of the block, or of the warp, takes part ----------------------------------

P3D_DEVICE void blockBarrier() { __syncthreads(); }

#ifdef P3D_PORTABLE
P3D_DEVICE void warpBarrier() { __nvvm_bar_warp_sync(0xffffffffu); }
P3D_DEVICE uint32_t shuffle(uint32_t value, int lane) {
  return __nvvm_shfl_sync_idx_i32(0xffffffffu, static_cast<int>(value), lane, 31);
}
P3D_DEVICE uint32_t shuffleXor(uint32_t value, int mask) {
  return __nvvm_shfl_sync_bfly_i32(0xffffffffu, static_cast<int>(value), mask, 31);
}
#else
P3D_DEVICE void warpBarrier() { __syncwarp(); }
P3D_DEVICE uint32_t shuffle(uint32_t value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }
P3D_DEVICE uint32_t shuffleXor(uint32_t value, int mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }
#endif

P3D_DEVICE float fromBits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
P3D_DEVICE uint32_t toBits(float value) { return __builtin_bit_cast(uint32_t, value); }
P3D_DEVICE float shuffleXor(float value, int mask) { return fromBits(shuffleXor(toBits(value), mask)); }
P3D_DEVICE uint64_t shuffleXor(uint64_t value, int mask) {
  uint64_t low = shuffleXor(static_cast<uint32_t>(value), mask);
  return static_cast<uint64_t>(shuffleXor(static_cast<uint32_t>(value >> 32), mask)) << 32 | low;
}
P3D_DEVICE double shuffleXor(double value, int mask) {
  return __builtin_bit_cast(double, shuffleXor(__builtin_bit_cast(uint64_t, value), mask));
}

// ---- Arithmetic ----------------------------------------------------------------------------------------------------

P3D_DEVICE float maximum(float a, float b) { return b > a ? b : a; }

#ifdef P3D_PORTABLE
P3D_DEVICE float exponential(float x) { return __builtin_expf(x); }
P3D_DEVICE float exponentialFast(float x) { return __builtin_exp2f(x * 1.44269504088896341f); }
P3D_DEVICE float logarithm(float x) { return __builtin_logf(x); }
P3D_DEVICE float squareRoot(float x) { return __builtin_sqrtf(x); }
P3D_DEVICE float hyperbolicTangent(float x) { return __builtin_tanhf(x); }
P3D_DEVICE float errorFunction(float x) { return __builtin_erff(x); }
P3D_DEVICE float fusedMultiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
/// To 1 unit in the last place or two.
P3D_DEVICE float exponential(float x) { return expf(x); }
/// To about 2^-22 + |x| 2^-24 relative: one multiplication and one instruction of the special-function unit.
P3D_DEVICE float exponentialFast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504088896341f));
  return y;
}
P3D_DEVICE float logarithm(float x) { return logf(x); }
P3D_DEVICE float squareRoot(float x) { return sqrtf(x); }
P3D_DEVICE float hyperbolicTangent(float x) { return tanhf(x); }
P3D_DEVICE float errorFunction(float x) { return erff(x); }
P3D_DEVICE float fusedMultiplyAdd(float a, float b, float c) { return fmaf(a, b, c); }
#endif

// ---- Sums over a warp and a block, in one fixed order
// ----------------------------------------------------------------

P3D_DEVICE float warpMax(float value) {
  for (int mask = warpThreads / 2; mask > 0; mask /= 2)
    value = maximum(value, shuffleXor(value, mask));
  return value;
}
template <typename Value> P3D_DEVICE Value warpSum(Value value) {
  for (int mask = warpThreads / 2; mask > 0; mask /= 2)
    value += shuffleXor(value, mask);
  return value;
}

/// What reductions over a block go through; one for each kind of value, reused from call to call.
template <typename Value> struct BlockScratch { Value warps[32]; };

/// The sum, known to every thread of a block of one dimension, of at most 32 warps.
template <typename Value> P3D_DEVICE Value blockSum(Value value, BlockScratch<Value> &scratch) {
  value = warpSum(value);
  blockBarrier(); // the last reduction was read by all
  if (laneIndex() == 0)
    scratch.warps[warpIndex()] = value;
  blockBarrier();
  Value total = scratch.warps[0];
  for (int warp = 1; warp < threadCount() / warpThreads; ++warp)
    total += scratch.warps[warp];
  return total;
}
P3D_DEVICE float blockMax(float value, BlockScratch<float> &scratch) {
  value = warpMax(value);
  blockBarrier();
  if (laneIndex() == 0)
    scratch.warps[warpIndex()] = value;
  blockBarrier();
  float total = scratch.warps[0];
  for (int warp = 1; warp < threadCount() / warpThreads; ++warp)
    total = maximum(total, scratch.warps[warp]);
  return total;
}
/// Whether any thread of the block says so.
P3D_DEVICE bool blockAny(bool value, BlockScratch<float> &scratch) { return blockMax(value ? 1.f : 0.f, scratch) > 0; }

} // namespace p3d
