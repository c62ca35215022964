#include "passes/Import/SliceDims.h"

using namespace mlir;
using namespace p3d;

namespace p3d::import {

std::optional<int64_t> cutDimension(graph::SliceOp slice) {
  std::optional<int64_t> cut;
  auto shape = graph::tensorType(slice.getOperand()).getShape();
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (slice.getStrides()[dim] != 1)
      return std::nullopt;
    if (slice.getStarts()[dim] == 0 && slice.getLimits()[dim] == size)
      continue;
    if (cut)
      return std::nullopt;
    cut = dim;
  }
  return cut;
}

std::optional<Pieces> findPieces(Value value) {
  Pieces pieces;
  std::optional<int64_t> dim;
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<graph::SliceOp>(user);
    std::optional<int64_t> cut = slice ? cutDimension(slice) : std::nullopt;
    if (!cut || (dim && *dim != *cut))
      return std::nullopt;
    dim = cut;
    pieces.slices.push_back(slice);
    ranges.push_back({slice.getStarts()[*cut], slice.getLimits()[*cut]});
  }
  if (!dim)
    return std::nullopt;
  llvm::sort(ranges);
  ranges.erase(llvm::unique(ranges), ranges.end());
  int64_t end = 0;
  for (auto [start, limit] : ranges) {
    if (start != end)
      return std::nullopt;
    pieces.starts.push_back(start);
    end = limit;
  }
  if (end != graph::tensorType(value).getDimSize(*dim))
    return std::nullopt;
  pieces.dim = *dim;
  return pieces;
}

} // namespace p3d::import
