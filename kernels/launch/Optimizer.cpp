// Launchers of the optimizers and of the squared norm.
#include "kernels/launch/Launch.h"
#include <cmath>

using namespace p3d;

static constexpr int64_t blockElements = P3D_CUDA_TENSOR_BLOCK;

int64_t p3d_cuda_number_blocks(p3d_cuda_tensor *table, int32_t tensors) {
  int64_t blocks = 0;
  for (int32_t i = 0; i < tensors; ++i) {
    table[i].firstBlock = blocks;
    blocks += std::max<int64_t>(1, ceilDivide(table[i].count, blockElements)); // an empty tensor still has its place
  }
  return blocks;
}

p3d_cuda_step p3d_cuda_adamw_step(int64_t step, float lr, float beta1, float beta2, float gradScale) {
  // Powers in double: in f32, 1 - beta2^step loses half its digits in the first steps.
  double correction1 = 1 - std::pow(static_cast<double>(beta1), static_cast<double>(step));
  double correction2 = 1 - std::pow(static_cast<double>(beta2), static_cast<double>(step));
  return {lr, gradScale, static_cast<float>(1 / correction1), static_cast<float>(1 / std::sqrt(correction2))};
}

static bool takesWeights(Launch &launch, const char *kernel, int32_t dtype, const float *master) {
  return launch.takes(kernel, dtype) &&
         (master || dtype == P3D_F32 ||
          launch.refuse(std::string(kernel) + " needs an f32 master for weights of element type " +
                        std::to_string(dtype)));
}

void p3d_cuda_adamw(p3d_launcher *launcher, void *stream, int32_t dtype, void *p, float *master, const float *g,
                    float *m, float *v, int64_t count, int64_t step, float lr, float beta1, float beta2, float epsilon,
                    float weightDecay, float gradScale) {
  Launch launch(launcher, stream);
  if (!takesWeights(launch, "adamw", dtype, master))
    return;
  p3d_cuda_tensor tensor = {p, master, g, m, v, count, 0, dtype, weightDecay, P3D_F32};
  launch.run("p3d_adamw_one", {ceilDivide(count, blockElements)}, 256, 0, tensor,
             p3d_cuda_adamw_step(step, lr, beta1, beta2, gradScale), beta1, beta2, epsilon);
}

void p3d_cuda_adamw_table(p3d_launcher *launcher, void *stream, const p3d_cuda_tensor *table, int32_t tensors,
                          int64_t blocks, const p3d_cuda_step *step, float beta1, float beta2, float epsilon) {
  Launch(launcher, stream).run("p3d_adamw", {blocks}, 256, 0, table, tensors, step, beta1, beta2, epsilon);
}

void p3d_cuda_sgd(p3d_launcher *launcher, void *stream, int32_t dtype, void *p, float *master, const float *g,
                  float *momentumBuffer, int64_t count, float lr, float momentum, float weightDecay, float gradScale) {
  Launch launch(launcher, stream);
  if (!takesWeights(launch, "sgd", dtype, master))
    return;
  p3d_cuda_tensor tensor = {p, master, g, momentumBuffer, nullptr, count, 0, dtype, weightDecay, P3D_F32};
  launch.run("p3d_sgd_one", {ceilDivide(count, blockElements)}, 256, 0, tensor, p3d_cuda_step{lr, gradScale, 1, 1},
             momentum);
}

void p3d_cuda_sgd_table(p3d_launcher *launcher, void *stream, const p3d_cuda_tensor *table, int32_t tensors,
                        int64_t blocks, const p3d_cuda_step *step, float momentum) {
  Launch(launcher, stream).run("p3d_sgd", {blocks}, 256, 0, table, tensors, step, momentum);
}

static void sumPartials(Launch &launch, const double *partial, int64_t blocks, double *result) {
  launch.run("p3d_squared_norm_sum", {1}, 1024, 0, partial, blocks, result);
}

void p3d_cuda_squared_norm(p3d_launcher *launcher, void *stream, const float *x, int64_t count, double *result) {
  Launch launch(launcher, stream);
  int64_t blocks = ceilDivide(count, blockElements);
  auto *partial = static_cast<double *>(launch.workspace(std::max<int64_t>(1, blocks) * 8));
  launch.run("p3d_squared_norm_one", {blocks}, 256, 0, x, count, partial);
  sumPartials(launch, partial, blocks, result);
}

void p3d_cuda_squared_norm_table(p3d_launcher *launcher, void *stream, const p3d_cuda_tensor *table, int32_t tensors,
                                 int64_t blocks, double *result) {
  Launch launch(launcher, stream);
  auto *partial = static_cast<double *>(launch.workspace(std::max<int64_t>(1, blocks) * 8));
  launch.run("p3d_squared_norm", {blocks}, 256, 0, table, tensors, partial);
  sumPartials(launch, partial, blocks, result);
}

void p3d_cuda_clip_scale(p3d_launcher *launcher, void *stream, const double *squaredNorm, float maxNorm, float scale,
                         p3d_cuda_step *step) {
  Launch(launcher, stream).run("p3d_clip_scale", {1}, 32, 0, squaredNorm, maxNorm, scale, step);
}
