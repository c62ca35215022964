// Where an element lies, as a linear function of a kernel's loops.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace p3d::memory {

/// constant + sum of loops[i] * (index of loop i) + sum of (number known at run time) * factor.
struct LinearIndex {
  int64_t constant = 0;
  llvm::SmallVector<int64_t, 6> loops;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 1> starts;

  explicit LinearIndex(unsigned loopCount, int64_t constant = 0) : constant(constant), loops(loopCount, 0) {}
  /// The index of one loop.
  static LinearIndex ofLoop(unsigned loopCount, unsigned loop);

  LinearIndex operator*(int64_t factor) const;
  LinearIndex operator+(const LinearIndex &other) const;
  LinearIndex operator+(int64_t offset) const;
  bool operator==(const LinearIndex &other) const {
    return constant == other.constant && loops == other.loops && starts == other.starts;
  }
};

using Indices = llvm::SmallVector<LinearIndex, 4>;

/// One index per loop.
Indices identityIndices(unsigned loopCount);
/// Steps of a dense row-major tensor.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);
/// The element of a dense row-major tensor of `shape` at `indices`.
LinearIndex linearize(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<LinearIndex> indices, unsigned loopCount);

} // namespace p3d::memory
