// Which values of a region are computed inside the kernels that use them, and which have memory of their own.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallSet.h"

namespace p3d::memory {

/// Whether `op` is computed by generated kernels: element-wise operations, changes of index, reductions, concatenations.
bool isGenerated(mlir::Operation *op);
/// Whether `op` can be part of the kernel of its user.
bool isFusable(mlir::Operation *op);

/// The decision for one region, in one backward walk. A value that is fusable and all of whose users are in one kernel joins that kernel; values that
/// cost nothing (moved elements, conversions, constants) are computed again in every kernel that wants them.
class Fusion {
public:
  explicit Fusion(mlir::Block &block);

  /// Whether `value` needs memory. Values without users need none.
  bool hasMemory(mlir::Value value) const { return stored.contains(value); }
  void requireMemory(mlir::Value value) { stored.insert(value); }

private:
  using Kernels = llvm::SmallSet<mlir::OpOperand *, 2>;
  /// The kernels that compute `value` if it is fused into its users; nullopt if a user takes it from memory.
  std::optional<Kernels> kernelsOf(mlir::Value value);

  llvm::DenseSet<mlir::Value> stored;
  llvm::DenseMap<mlir::Value, Kernels> fusedInto;
};

} // namespace p3d::memory
