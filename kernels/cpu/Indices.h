// How gather and scatter_add read their ids: element type, the shard's start, and what happens outside it.
#pragma once
#include "kernels/cpu/Element.h"
#include <algorithm>

namespace p3d {

class Indices {
public:
  /// Ids of a dimension of `extent` rows that begins at row `start` of the whole; start = -1 means that it is the
  /// whole.
  Indices(int32_t dtype, const void *ids, int64_t extent, int64_t start)
      : dtype(dtype), ids(ids), extent(extent), start(start) {
    if (dtype != P3D_I32 && dtype != P3D_I64 && dtype != P3D_UI32)
      refuseElementType("an index of gather or scatter_add", dtype);
  }

  /// Row of id `i`, or -1 where it lies outside the shard. In a whole dimension it is clamped.
  int64_t row(int64_t i) const {
    int64_t id = value(i);
    if (start < 0)
      return std::clamp<int64_t>(id, 0, extent - 1);
    // Subtracting first could overflow for ids near the ends of i64.
    return id >= start && id < start + extent ? id - start : -1;
  }

private:
  int64_t value(int64_t i) const {
    if (dtype == P3D_I64)
      return static_cast<const int64_t *>(ids)[i];
    if (dtype == P3D_UI32)
      return static_cast<const uint32_t *>(ids)[i];
    return static_cast<const int32_t *>(ids)[i];
  }

  int32_t dtype;
  const void *ids;
  int64_t extent, start;
};

} // namespace p3d
