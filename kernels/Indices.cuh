// How gather and scatter_add read their ids: element type, the shard's start, and what happens outside it.
#pragma once
#include "kernels/Element.cuh"
#include "runtime/include/p3d/runtime.h"

namespace p3d {

/// Ids of a dimension of `extent` rows that begins at row `start` of the whole; start = -1 means that it is the whole.
struct Ids {
  const void *ids;
  int32_t dtype;
  int64_t extent, start;

  /// Row of id `i`, or -1 where it lies outside the shard. In a whole dimension it is clamped.
  P3D_DEVICE int64_t row(int64_t i) const {
    int64_t id = dtype == P3D_I64    ? static_cast<const int64_t *>(ids)[i]
                 : dtype == P3D_UI32 ? static_cast<int64_t>(static_cast<const uint32_t *>(ids)[i])
                                     : static_cast<const int32_t *>(ids)[i];
    if (start < 0)
      return id < 0 ? 0 : id < extent ? id : extent - 1;
    // Subtracting first could overflow for ids near the ends of i64.
    return id >= start && id < start + extent ? id - start : -1;
  }
};

} // namespace p3d
