// The sum of squares, of one tensor or of the gradients of a table (the global norm), in two levels: each block sums
// P3D_CUDA_TENSOR_BLOCK elements in double into its place, then one block adds these in a fixed order. No atomics:
// every run gives the same bits on every device. Traffic: the elements once. p3d_clip_scale makes the factor of the
// gradients on the device, so that the host need not wait for the norm.
#include "kernels/TensorTable.cuh"

using namespace p3d;

namespace {

P3D_DEVICE void sumOfSquares(const p3d_cuda_tensor &x, int64_t block, int64_t count, double *partial) {
  P3D_SHARED BlockScratch<double> scratch;
  double sum = 0;
  forElements(block, count, [&](int64_t first, int size) {
    float values[4];
    loadGradients(x, first, size, values);
    P3D_UNROLL
    for (int e = 0; e < 4; ++e)
      sum += static_cast<double>(values[e]) * static_cast<double>(values[e]); // 0 beyond the end
  });
  sum = blockSum(sum, scratch);
  if (threadIndex() == 0)
    partial[blockIndex()] = sum;
}

} // namespace

P3D_KERNEL(256) p3d_squared_norm_one(const float *x, int64_t count, double *partial) {
  p3d_cuda_tensor tensor = {};
  tensor.g = x;
  sumOfSquares(tensor, blockIndex(), count, partial);
}

P3D_KERNEL(256) p3d_squared_norm(const p3d_cuda_tensor *table, int32_t tensors, double *partial) {
  const p3d_cuda_tensor &tensor = tensorOfBlock(table, tensors, blockIndex());
  sumOfSquares(tensor, blockIndex() - tensor.firstBlock, tensor.count, partial);
}

P3D_KERNEL(1024) p3d_squared_norm_sum(const double *partial, int64_t count, double *result) {
  P3D_SHARED BlockScratch<double> scratch;
  double sum = 0;
  for (int64_t i = threadIndex(); i < count; i += threadCount())
    sum += partial[i];
  sum = blockSum(sum, scratch);
  if (threadIndex() == 0)
    *result = sum;
}

P3D_KERNEL(32) p3d_clip_scale(const double *squaredNorm, float maxNorm, float scale, p3d_cuda_step *step) {
  if (threadIndex() != 0)
    return;
  float norm = scale * squareRoot(static_cast<float>(*squaredNorm));
  step->gradScale = norm > maxNorm ? scale * (maxNorm / norm) : scale;
}
