// Included before the kernels' tests (-include) to run them on the CUDA forms: each p3d_X becomes p3d_cuda_X on the
// tests' launcher.
#pragma once
#include "test/kernels/Buffer.h"
#include "test/kernels/cuda/TestLauncher.h"

#define P3D_TEST_CUDA
#define P3D_ON_DEVICE p3dtest::testLauncher(), p3dtest::testStream()

namespace p3dtest {
inline double squaredNormOnDevice(const float *x, int64_t count) {
  Buffer<double> result(1);
  p3d_cuda_squared_norm(P3D_ON_DEVICE, x, count, result.data());
  return result[0];
}
} // namespace p3dtest

#define p3d_adamw(...) p3d_cuda_adamw(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_attention(...) p3d_cuda_attention(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_attention_grad(...) p3d_cuda_attention_grad(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_cross_entropy_grad(...) p3d_cuda_cross_entropy_grad(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_cross_entropy_max(...) p3d_cuda_cross_entropy_max(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_cross_entropy_sum(...) p3d_cuda_cross_entropy_sum(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_einsum(...) p3d_cuda_einsum(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_gather(...) p3d_cuda_gather(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_layer_norm(...) p3d_cuda_layer_norm(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_layer_norm_grad(...) p3d_cuda_layer_norm_grad(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_rms_norm(...) p3d_cuda_rms_norm(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_rms_norm_grad(...) p3d_cuda_rms_norm_grad(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_scatter_add(...) p3d_cuda_scatter_add(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_sgd(...) p3d_cuda_sgd(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_softmax(...) p3d_cuda_softmax(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_softmax_grad(...) p3d_cuda_softmax_grad(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_sort(...) p3d_cuda_sort(P3D_ON_DEVICE, __VA_ARGS__)
#define p3d_squared_norm(...) p3dtest::squaredNormOnDevice(__VA_ARGS__)
#define p3d_top_k(...) p3d_cuda_top_k(P3D_ON_DEVICE, __VA_ARGS__)
