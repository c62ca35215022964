// AdamW (Loshchilov, Hutter 2019) over a table of tensors in one launch. Traffic per element: weight, gradient and both
// moments read, weight and moments written, each once (28 bytes in f32, 30 with a 16-bit copy of a master). What
// changes from step to step is read from device memory, so that a captured graph replays.
#include "kernels/TensorTable.cuh"

using namespace p3d;

namespace {

struct Constants {
  float beta1, beta2, epsilon;
};

P3D_DEVICE void update(const p3d_cuda_tensor &tensor, int64_t block, const p3d_cuda_step &step, Constants c) {
  float keep = fusedMultiplyAdd(-step.lr, tensor.weightDecay, 1.f), rate = step.lr * step.correction1;
  const float *weights = tensor.master ? tensor.master : static_cast<const float *>(tensor.p);
  forElements(block, tensor.count, [&](int64_t first, int count) {
    float p[4], g[4], m[4], v[4];
    loadFour(weights + first, count, p);
    loadGradients(tensor, first, count, g);
    loadFour(tensor.first + first, count, m);
    loadFour(tensor.second + first, count, v);
    P3D_UNROLL
    for (int e = 0; e < 4; ++e) {
      float grad = g[e] * step.gradScale;
      m[e] = c.beta1 * m[e] + (1.f - c.beta1) * grad;
      v[e] = c.beta2 * v[e] + (1.f - c.beta2) * grad * grad;
      p[e] = keep * p[e] - rate * m[e] / (squareRoot(v[e]) * step.correction2 + c.epsilon);
    }
    storeFour(tensor.first + first, count, m);
    storeFour(tensor.second + first, count, v);
    storeWeights(tensor, first, count, p);
  });
}

} // namespace

P3D_KERNEL(256)
p3d_adamw(const p3d_cuda_tensor *table, int32_t tensors, const p3d_cuda_step *step, float beta1, float beta2,
          float epsilon) {
  const p3d_cuda_tensor &tensor = tensorOfBlock(table, tensors, blockIndex());
  update(tensor, blockIndex() - tensor.firstBlock, *step, {beta1, beta2, epsilon});
}

P3D_KERNEL(256)
p3d_adamw_one(p3d_cuda_tensor tensor, p3d_cuda_step step, float beta1, float beta2, float epsilon) {
  update(tensor, blockIndex(), step, {beta1, beta2, epsilon});
}
