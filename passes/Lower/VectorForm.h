// Whether a thread of an element-wise kernel can compute neighbouring results with accesses of 16 bytes, and those
// accesses.
#pragma once

#include "passes/Lower/MemoryAlignment.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"

namespace p3d::lower {

/// The number of neighbouring results of a thread: as many as fit in 16 bytes, at most 8, that divide the innermost
/// loop; 1 where no more can be had. Along that loop every operand has to stand still or to be contiguous, and where it
/// is contiguous its memory and its steps have to be aligned, given what is known of the kernel's parameters.
int64_t vectorWidth(mlir::linalg::GenericOp generic, const ParameterMultiples &multiples);

/// The type of a kernel with `memories` as bytes, of which vectors and elements are views.
mlir::FunctionType typeWithBytes(mlir::FunctionType kernel, const llvm::BitVector &memories);

/// An operand of a generic over a flat memory parameter of the kernel.
class VectorOperand {
public:
  VectorOperand(mlir::linalg::GenericOp generic, mlir::OpOperand &operand);

  /// Whether it moves along the innermost loop; else one scalar serves all neighbours.
  bool moves() const { return steps.back() != 0; }
  /// Whether `width` neighbours lie side by side and are aligned.
  bool allows(int64_t width, const ParameterMultiples &multiples) const;

  /// Where a thread accesses its neighbours: the kernel's parameters as bytes, values of the source in the kernel, and
  /// the positions in the loops, the innermost counted in groups of `width`.
  struct Place {
    mlir::ValueRange parameters;
    const mlir::IRMapping &mapping;
    llvm::ArrayRef<mlir::Value> positions;
    int64_t width;
  };
  llvm::SmallVector<mlir::Value> load(mlir::OpBuilder &builder, const Place &place) const;
  void store(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> lanes, const Place &place) const;

private:
  /// Elements of one access.
  int64_t lanesOf(int64_t width) const { return std::min(width, kAccessBytes / elementBytes); }
  mlir::Value vectors(mlir::OpBuilder &builder, const Place &place) const;
  /// The number of the first vector.
  mlir::Value first(mlir::OpBuilder &builder, const Place &place) const;

  static constexpr int64_t kAccessBytes = 16;
  mlir::Location loc;
  mlir::BlockArgument memory;
  mlir::OpFoldResult offset;
  llvm::SmallVector<int64_t> steps; ///< in elements, of each loop
  int64_t elementBytes;
};

} // namespace p3d::lower
