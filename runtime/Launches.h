// What a rank lets its device do.
#pragma once
#include <cstdint>

namespace p3d {

/// Counts of work begun. What a graph replays counts as often as it runs; `graphs` counts the launches that did that.
struct Launches {
  int64_t kernels = 0;     ///< matrix products of cuBLASLt not counted
  int64_t products = 0;    ///< of cuBLASLt
  int64_t collectives = 0; ///< of NCCL, sends and receives too
  int64_t graphs = 0;

  Launches operator-(const Launches &other) const {
    return {kernels - other.kernels, products - other.products, collectives - other.collectives,
            graphs - other.graphs};
  }
  Launches operator+(const Launches &other) const { return *this - (Launches{} - other); }
};

} // namespace p3d
