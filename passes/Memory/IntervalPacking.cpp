#include "passes/Memory/IntervalPacking.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <map>

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

/// From the bottom up: on the lowest step of what is placed goes the piece that lives longest of those whose life is inside the step's; where none is, the step is filled up
/// to the lower of its neighbours.
Packing packOnLowest(llvm::ArrayRef<LiveInterval> intervals, int64_t alignment) {
  Packing packing;
  packing.offsets.resize(intervals.size());
  llvm::SmallVector<unsigned> left;
  std::map<int64_t, int64_t> heights; // of the steps, by their first times; a step ends where the next one begins
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  for (unsigned i = 0; i < intervals.size(); ++i)
    if (intervals[i].bytes > 0)
      left.push_back(i);
  if (left.empty())
    return packing;
  int64_t begin = kEnd, end = 0;
  for (unsigned i : left) {
    begin = std::min(begin, intervals[i].first);
    end = std::max(end, intervals[i].last + 1);
  }
  heights[begin] = 0;
  heights[end] = kEnd;
  while (!left.empty()) {
    auto lowest = heights.begin();
    for (auto step = heights.begin(); step != heights.end(); ++step)
      if (step->second < lowest->second)
        lowest = step;
    int64_t first = lowest->first, behind = std::next(lowest)->first, height = lowest->second;
    auto isInside = [&](unsigned i) { return intervals[i].first >= first && intervals[i].last < behind; };
    auto *best = left.end();
    for (auto *candidate = left.begin(); candidate != left.end(); ++candidate)
      if (isInside(*candidate) && (best == left.end() || std::pair(length(intervals[*candidate]), intervals[*candidate].bytes) > std::pair(length(intervals[*best]), intervals[*best].bytes)))
        best = candidate;
    if (best == left.end()) {
      int64_t before = lowest == heights.begin() ? kEnd : std::prev(lowest)->second, after = std::next(lowest)->second;
      lowest->second = std::min(before, after);
      if (after == lowest->second)
        heights.erase(std::next(lowest));
      if (before == lowest->second)
        heights.erase(lowest);
      continue;
    }
    const LiveInterval &life = intervals[*best];
    packing.offsets[*best] = height;
    int64_t top = llvm::alignTo(height + life.bytes, alignment);
    packing.bytes = std::max(packing.bytes, top);
    if (life.last + 1 < behind)
      heights[life.last + 1] = height;
    heights[life.first] = top;
    left.erase(best);
  }
  return packing;
}

/// The same numbers on any machine: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
class Random {
public:
  uint64_t below(uint64_t count) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return (mixed ^ (mixed >> 31)) % count;
  }

private:
  uint64_t state = 0;
};
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
  Packing best = packOnLowest(intervals, alignment);
  auto isGood = [&] { return best.bytes <= bound; };
  llvm::SmallVector<unsigned> bestOrder = llvm::to_vector(llvm::seq<unsigned>(0, count));
  llvm::stable_sort(bestOrder, [&](unsigned a, unsigned b) { return best.offsets[a] < best.offsets[b]; });
  auto improve = [&](Packing packing, llvm::ArrayRef<unsigned> order) {
    if (packing.bytes >= best.bytes)
      return;
    best = std::move(packing);
    bestOrder.assign(order.begin(), order.end());
  };
  for (auto isBefore : orders) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, count));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) { return isBefore(intervals[a], intervals[b]); });
    for (int64_t round = 0; round <= rounds && !isGood(); ++round) {
      Packing packing = packInOrder(intervals, alignment, order);
      // The piece on top is in the way: it is the next to be placed first.
      auto top = llvm::max_element(order, [&](unsigned a, unsigned b) { return packing.offsets[a] + intervals[a].bytes < packing.offsets[b] + intervals[b].bytes; });
      improve(std::move(packing), order);
      std::rotate(order.begin(), top, top + 1);
    }
  }
  Random random;
  for (int64_t round = 0; round < 32 * rounds && !isGood(); ++round) {
    llvm::SmallVector<unsigned> order = bestOrder;
    for (uint64_t moves = 1 + random.below(3); moves > 0; --moves) {
      auto *from = order.begin() + random.below(count), *to = order.begin() + random.below(count);
      from < to ? std::rotate(from, from + 1, to + 1) : std::rotate(to, from, from + 1);
    }
    Packing packing = packInOrder(intervals, alignment, order);
    if (packing.bytes <= best.bytes) {
      best = std::move(packing);
      bestOrder = std::move(order);
    }
  }
  return best;
}
