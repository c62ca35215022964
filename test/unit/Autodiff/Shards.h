// One operation computed in parts, as its sharding rule says: operands are cut, the operation is made for local shapes, and what the parts give is put
// together again.
#pragma once

#include "Programs.h"
#include "dialects/Graph/FactorRules.h"

namespace p3d {

/// The number of parts into which `size` is cut: its smallest divisor above 1.
int64_t partsOf(int64_t size);

/// Part `part` of `parts` of a tensor: each dimension that begins with `factor` is cut.
graph::Tensor shardOf(const graph::Tensor &tensor, const graph::TensorFactors &dims, int factor, int64_t part, int64_t parts);

/// The results of `op` on `operands` of any shapes, its result types and attributes made local over `factor` of `rule`; with -1 as it is.
graph::Tensors evaluateLocally(mlir::Operation *op, const graph::FactorRule &rule, int factor, int64_t parts, llvm::ArrayRef<graph::Tensor> operands);

/// The results of `op` computed in parts over `factor` and put together: concatenated where a result has the factor, combined where it lacks it.
graph::Tensors evaluateInParts(mlir::Operation *op, const graph::FactorRule &rule, int factor, llvm::ArrayRef<graph::Tensor> operands);

} // namespace p3d
