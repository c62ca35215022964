// The last step of gradients of parameters along rows (norms, biases): partial sums of blocks,
// [gradients][blocks][cols] in f32, are added in the order of the blocks and rounded once. A block of 32 x 8 threads
// takes 32 columns, each of its 8 rows of threads every eighth block. Traffic: blocks * cols * 4 bytes per gradient,
// read once, out of the second-level cache. With `adds` the gradients are added to.
#include "kernels/Element.cuh"

using namespace p3d;

namespace {

template <typename T>
P3D_DEVICE void sumPartials(const float *partial, int blocks, int cols, T *first, T *second, bool adds) {
  P3D_SHARED float sums[8][33];
  T *out = blockIndexY() == 0 ? first : second;
  int col = blockIndex() * 32 + threadIndex();
  float sum = 0;
  if (col < cols)
    for (int block = threadIndexY(); block < blocks; block += 8)
      sum += partial[(static_cast<int64_t>(blockIndexY()) * blocks + block) * cols + col];
  sums[threadIndexY()][threadIndex()] = sum;
  blockBarrier();
  if (threadIndexY() != 0 || col >= cols || !out)
    return;
  for (int group = 1; group < 8; ++group)
    sum += sums[group][threadIndex()];
  out[col] = fromFloat<T>(adds ? toFloat(out[col]) + sum : sum);
}

} // namespace

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(256)                                                                                                      \
  p3d_sum_partials_##suffix(const float *partial, int32_t blocks, int32_t cols, type *first, type *second,             \
                            int32_t adds) {                                                                            \
    sumPartials<type>(partial, blocks, cols, first, second, adds != 0);                                                \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
