// Slices that cut one dimension of a value into pieces.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include <optional>

namespace p3d::import {

/// The only dimension that `slice` cuts, with step 1; nullopt when it cuts several or none.
std::optional<int64_t> cutDimension(graph::SliceOp slice);

/// The distinct pieces of a value whose uses are all slices of one dimension that cover it without overlap, in order of their start.
struct Pieces {
  int64_t dim;
  llvm::SmallVector<int64_t> starts; ///< of each piece; the last one ends with the dimension
  llvm::SmallVector<graph::SliceOp> slices;

  size_t indexOf(graph::SliceOp slice) const {
    return llvm::find(starts, slice.getStarts()[dim]) - starts.begin();
  }
  int64_t sizeOf(size_t piece, int64_t whole) const { return (piece + 1 < starts.size() ? starts[piece + 1] : whole) - starts[piece]; }
};
std::optional<Pieces> findPieces(mlir::Value value);

} // namespace p3d::import
