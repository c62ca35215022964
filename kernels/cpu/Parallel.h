// Loops of a kernel on several threads. One thread works unless p3d_set_threads said more. What a kernel computes never
// depends on how many do: parts are independent, and sums are cut in places that follow from sizes alone.
#pragma once
#include <algorithm>
#include <cstdint>

namespace p3d {

/// How many threads work on a loop that is large enough.
int parallelThreads();

/// A loop body by reference: body(context, begin, end).
using RangeFunction = void (*)(void *context, int64_t begin, int64_t end);
void parallelRanges(int64_t count, int64_t grain, RangeFunction body, void *context);

/// Calls body(begin, end) for parts that make up [0, count). Parts begin at multiples of `grain`, and one is handed out
/// at a time, so that a thread that is held up does less. A loop inside of a part is done by its thread.
template <typename Body> void parallelFor(int64_t count, int64_t grain, Body &&body) {
  using Plain = std::remove_reference_t<Body>;
  auto call = [](void *context, int64_t begin, int64_t end) { (*static_cast<Plain *>(context))(begin, end); };
  parallelRanges(count, grain, call, const_cast<void *>(static_cast<const void *>(&body)));
}

/// As many items of `itemCost` elements, of reading or writing, as make a part worth handing out.
inline int64_t grainOf(int64_t itemCost) {
  constexpr int64_t leastCost = 16384;
  return std::max<int64_t>(1, leastCost / std::max<int64_t>(1, itemCost));
}

} // namespace p3d
