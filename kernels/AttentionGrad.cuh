// What the three kernels of attention's gradient share. With P = exp(scores - shift) * factor and dot = sum(dO * o) of
// a row: dV = P^T dO, dS = P * (dO V^T - dot), dQ = scale * dS K, dK = scale * dS^T Q.
#pragma once
#include "kernels/Attention.cuh"

namespace p3d {

/// What p3d_attention_grad_rows leaves for each query: [b][h][s] each, one after the other.
struct RowStatistics {
  float *shift, *factor, *dot;

  P3D_DEVICE RowStatistics(float *workspace, int64_t rows)
      : shift(workspace), factor(workspace + rows), dot(workspace + 2 * rows) {}
};

/// The tensors that the gradient reads.
template <typename T> struct GradInputs { const T *dO, *q, *k, *v; };

} // namespace p3d
