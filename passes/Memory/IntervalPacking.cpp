#include "passes/Memory/IntervalPacking.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace p3d::memory;

namespace {
bool overlap(const LiveInterval &a, const LiveInterval &b) { return a.first <= b.last && b.first <= a.last; }
} // namespace

Packing p3d::memory::packIntervals(llvm::ArrayRef<LiveInterval> intervals, int64_t alignment) {
  Packing packing;
  packing.offsets.resize(intervals.size());
  llvm::SmallVector<unsigned> order, placed;
  for (unsigned i = 0; i < intervals.size(); ++i)
    order.push_back(i);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) { return intervals[a].bytes > intervals[b].bytes; });
  auto byOffset = [&](unsigned a, unsigned b) { return packing.offsets[a] < packing.offsets[b]; };
  for (unsigned i : order) {
    int64_t offset = 0;
    for (unsigned other : placed) { // in the order of their places
      if (!overlap(intervals[i], intervals[other]))
        continue;
      if (packing.offsets[other] >= offset + intervals[i].bytes)
        break;
      int64_t end = packing.offsets[other] + intervals[other].bytes;
      offset = std::max(offset, static_cast<int64_t>(llvm::alignTo(end, alignment)));
    }
    packing.offsets[i] = offset;
    packing.bytes = std::max<int64_t>(packing.bytes, llvm::alignTo(offset + intervals[i].bytes, alignment));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, byOffset), i);
  }
  return packing;
}
