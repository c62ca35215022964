// The epilogue of a product, and whether cuBLASLt can do it in the same call.
#pragma once
#include "runtime/Cuda/MatmulForm.h"
#include <cublasLt.h>

namespace p3d {

/// What p3d_einsum_epilogue of Kernels.h adds to p3d_einsum; pointers are the device's. Kind 0: nothing.
struct ProductEpilogue {
  int32_t kind = 0;
  int64_t count = 0;
  const void *bias = nullptr;
  void *aux = nullptr, *sums = nullptr;
  bool addsSums = false;
};

/// cuBLASLt's name for it; nothing where its vector is no side of the matrix, its auxiliary matrix not aligned as
/// cuBLASLt wants, or where sums would need several calls.
std::optional<cublasLtEpilogue_t> matmulEpilogue(const MatmulForm &form, const ProductEpilogue &epilogue,
                                                 int64_t resultBytes);

} // namespace p3d
