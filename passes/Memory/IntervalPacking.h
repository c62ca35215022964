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

/// The most bytes that are alive at once, which no packing can do without.
int64_t mostAlive(llvm::ArrayRef<LiveInterval> intervals);

/// Each in turn at the lowest place that is free for its whole life; the best of several orders, and of those that come of placing
/// first what has come to lie on top.
Packing packIntervals(llvm::ArrayRef<LiveInterval> intervals, int64_t alignment);

} // namespace p3d::memory
