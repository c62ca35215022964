#include "passes/Memory/IntervalPacking.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

using namespace p3d::memory;

namespace {
bool overlap(const LiveInterval &a, const LiveInterval &b) { return a.first <= b.last && b.first <= a.last; }

Packing packInOrder(llvm::ArrayRef<LiveInterval> intervals, int64_t alignment, llvm::ArrayRef<unsigned> order) {
  Packing packing;
  packing.offsets.resize(intervals.size());
  llvm::SmallVector<unsigned> placed;
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

int64_t length(const LiveInterval &life) { return life.last - life.first + 1; }
} // namespace

int64_t p3d::memory::mostAlive(llvm::ArrayRef<LiveInterval> intervals) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> changes; // at a time; ends come before beginnings
  for (const LiveInterval &life : intervals) {
    changes.push_back({life.first, life.bytes});
    changes.push_back({life.last + 1, -life.bytes});
  }
  llvm::sort(changes);
  int64_t alive = 0, most = 0;
  for (auto [time, bytes] : changes)
    most = std::max(most, alive += bytes);
  return most;
}

Packing p3d::memory::packIntervals(llvm::ArrayRef<LiveInterval> intervals, int64_t alignment) {
  using Life = const LiveInterval &;
  // Large pieces leave the worst holes; long ones are in the way of most others; and pieces that follow in time stack well where sizes are alike.
  bool (*const orders[])(Life, Life) = {
      [](Life a, Life b) { return a.bytes > b.bytes; },
      [](Life a, Life b) { return std::pair(length(a), a.bytes) > std::pair(length(b), b.bytes); },
      [](Life a, Life b) { return double(a.bytes) * length(a) > double(b.bytes) * length(b); },
      [](Life a, Life b) { return std::pair(a.first, -a.bytes) < std::pair(b.first, -b.bytes); },
  };
  int64_t bound = llvm::alignTo(mostAlive(intervals), alignment), count = intervals.size();
  int64_t rounds = std::min<int64_t>(64, (1 << 20) / std::max<int64_t>(1, count * count)); // a packing takes quadratic time
  std::optional<Packing> best;
  for (auto isBefore : orders) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, intervals.size()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) { return isBefore(intervals[a], intervals[b]); });
    for (int64_t round = 0; round <= rounds && !(best && best->bytes <= bound); ++round) {
      Packing packing = packInOrder(intervals, alignment, order);
      // The piece on top is in the way: it is the next to be placed first.
      auto top = llvm::max_element(order, [&](unsigned a, unsigned b) { return packing.offsets[a] + intervals[a].bytes < packing.offsets[b] + intervals[b].bytes; });
      if (top != order.end())
        std::rotate(order.begin(), top, top + 1);
      if (!best || packing.bytes < best->bytes)
        best = std::move(packing);
    }
  }
  return std::move(*best);
}
