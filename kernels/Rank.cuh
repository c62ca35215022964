// The place of an element in a stable sort, by counting: how many elements are smaller, or equal and before it. Every
// thread has one element, the keys of the row pass through shared memory in tiles. The work grows with the square of
// the row (32768 keys: 10^9 comparisons, about 0.2 ms on an A100), but it is one launch, parallel in every element,
// without atomics, and its result is the same on every run.
#pragma once
#include "kernels/Device.cuh"

namespace p3d {

constexpr int rankThreads = 256;

/// All threads of the block call it, with equal `count`; keyAt(i) gives the key of element i. `index` may lie beyond
/// the end.
template <typename Key, typename KeyAt> P3D_DEVICE int rankOf(int index, int count, const KeyAt &keyAt) {
  P3D_SHARED Key tile[rankThreads];
  Key own = index < count ? keyAt(index) : Key(0);
  int rank = 0;
  for (int first = 0; first < count; first += rankThreads) {
    blockBarrier(); // the last tile was used by all
    if (first + threadIndex() < count)
      tile[threadIndex()] = keyAt(first + threadIndex());
    blockBarrier();
    int size = count - first < rankThreads ? count - first : rankThreads;
    for (int i = 0; i < size; ++i)
      rank += tile[i] < own || (tile[i] == own && first + i < index);
  }
  return rank;
}

} // namespace p3d
