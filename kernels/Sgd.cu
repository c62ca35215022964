// Stochastic gradient descent with momentum, as PyTorch defines it (b = momentum * b + g, p -= lr * b), over a table of
// tensors in one launch. Traffic per element: weight, gradient and buffer read, weight and buffer written, each once.
#include "kernels/TensorTable.cuh"

using namespace p3d;

namespace {

P3D_DEVICE void update(const p3d_cuda_tensor &tensor, int64_t block, const p3d_cuda_step &step, float momentum) {
  const float *weights = tensor.master ? tensor.master : static_cast<const float *>(tensor.p);
  forElements(block, tensor.count, [&](int64_t first, int count) {
    float p[4], g[4], buffer[4] = {};
    loadFour(weights + first, count, p);
    loadGradients(tensor, first, count, g);
    if (tensor.first)
      loadFour(tensor.first + first, count, buffer);
    P3D_UNROLL
    for (int e = 0; e < 4; ++e) {
      buffer[e] = momentum * buffer[e] + (g[e] * step.gradScale + tensor.weightDecay * p[e]);
      p[e] -= step.lr * buffer[e];
    }
    if (tensor.first)
      storeFour(tensor.first + first, count, buffer);
    storeWeights(tensor, first, count, p);
  });
}

} // namespace

P3D_KERNEL(256)
p3d_sgd(const p3d_cuda_tensor *table, int32_t tensors, const p3d_cuda_step *step, float momentum) {
  const p3d_cuda_tensor &tensor = tensorOfBlock(table, tensors, blockIndex());
  update(tensor, blockIndex() - tensor.firstBlock, *step, momentum);
}

P3D_KERNEL(256) p3d_sgd_one(p3d_cuda_tensor tensor, p3d_cuda_step step, float momentum) {
  update(tensor, blockIndex(), step, momentum);
}
