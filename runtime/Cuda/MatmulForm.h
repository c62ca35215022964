// An einsum's plan as cuBLASLt can express it: column-major matrices, transposed or not, in one strided batch, with a
// few more loops around on the host.
#pragma once
#include "kernels/cpu/EinsumPlan.h"
#include <optional>

namespace p3d {

/// D[m,n] = op(A)[m,k] op(B)[k,n], column-major; strides in elements.
struct MatmulForm {
  /// The first matrix is the einsum's b, the second its a: D is then c transposed, since c is row-major.
  bool isSwapped;
  int64_t m, n, k;
  bool transposesFirst, transposesSecond;
  int64_t firstLeading, secondLeading, resultLeading;
  int64_t batch, firstStride, secondStride, resultStride;
  LoopNest outer; ///< in terms of the einsum's a, b and c
};

/// Nothing for plans that need a kernel: without a unit stride, with loops that add up, or with many outer loops.
std::optional<MatmulForm> matmulForm(const p3d_einsum_plan &plan);

} // namespace p3d
