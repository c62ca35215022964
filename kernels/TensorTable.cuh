// One launch over a table of tensors: a block takes P3D_CUDA_TENSOR_BLOCK elements of one tensor, found by the number
// of its first block.
#pragma once
#include "kernels/CudaArguments.h"
#include "kernels/Element.cuh"
#include "runtime/include/p3d/runtime.h"

namespace p3d {

constexpr int tableThreads = 256;

/// The tensor that block `block` of the launch belongs to.
P3D_DEVICE const p3d_cuda_tensor &tensorOfBlock(const p3d_cuda_tensor *table, int tensors, int64_t block) {
  int low = 0, high = tensors; // table[low].firstBlock <= block < table[high].firstBlock
  while (high - low > 1) {
    int middle = (low + high) / 2;
    (table[middle].firstBlock <= block ? low : high) = middle;
  }
  return table[low];
}

/// Calls body(first, count) for this thread's groups of four elements of the block's part of a tensor of `size`.
template <typename Body> P3D_DEVICE void forElements(int64_t block, int64_t size, const Body &body) {
  int64_t begin = block * P3D_CUDA_TENSOR_BLOCK;
  P3D_NO_UNROLL
  for (int offset = threadIndex() * 4; offset < P3D_CUDA_TENSOR_BLOCK; offset += tableThreads * 4) {
    int64_t first = begin + offset, left = size - first;
    if (left > 0)
      body(first, left < 4 ? static_cast<int>(left) : 4);
  }
}

P3D_DEVICE void loadFour(const float *from, int count, float (&values)[4]) {
  loadChunk(from, count, count == 4 && isAligned(from), values);
}
P3D_DEVICE void storeFour(float *to, int count, const float (&values)[4]) {
  storeChunk(to, count, count == 4 && isAligned(to), values);
}

/// The gradients, as f32.
P3D_DEVICE void loadGradients(const p3d_cuda_tensor &tensor, int64_t first, int count, float (&values)[4]) {
  if (tensor.gradDtype == P3D_F32)
    return loadFour(static_cast<const float *>(tensor.g) + first, count, values);
  const Bf16 *from = static_cast<const Bf16 *>(tensor.g) + first;
  P3D_UNROLL
  for (int e = 0; e < 4; ++e)
    values[e] = e < count ? toFloat(from[e]) : 0.f;
}

/// Writes new weights: to the master and rounded to p, or to p alone where it is the master.
P3D_DEVICE void storeWeights(const p3d_cuda_tensor &tensor, int64_t first, int count, const float (&weights)[4]) {
  storeFour((tensor.master ? tensor.master : static_cast<float *>(tensor.p)) + first, count, weights);
  if (!tensor.master)
    return;
  if (tensor.dtype == P3D_F32)
    return storeFour(static_cast<float *>(tensor.p) + first, count, weights);
  uint16_t *to = static_cast<uint16_t *>(tensor.p) + first;
  uint16_t bits[4];
  P3D_UNROLL
  for (int e = 0; e < 4; ++e)
    bits[e] = tensor.dtype == P3D_BF16 ? roundToBf16(weights[e]) : roundToF16(weights[e]);
  if (count == 4 && reinterpret_cast<uintptr_t>(to) % 8 == 0) {
    *reinterpret_cast<uint64_t *>(to) = bits[0] | static_cast<uint64_t>(bits[1]) << 16 |
                                        static_cast<uint64_t>(bits[2]) << 32 | static_cast<uint64_t>(bits[3]) << 48;
    return;
  }
  P3D_UNROLL
  for (int e = 0; e < 4; ++e)
    if (e < count)
      to[e] = bits[e];
}

} // namespace p3d
