// Static places for pieces of memory that are alive for some time each.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace p3d::memory {

/// `bytes` that are alive from time `first` to time `last`, both included.
struct LiveInterval {
  int64_t bytes, first, last;
};

struct Packing {
  llvm::SmallVector<int64_t> offsets; ///< one per interval, multiples of the alignment
  int64_t bytes = 0;                  ///< of all together
};

/// Largest first, each at the lowest place that is free for its whole life.
Packing packIntervals(llvm::ArrayRef<LiveInterval> intervals, int64_t alignment);

} // namespace p3d::memory
