// Stable sort and top-k of rows. Elements become unsigned keys that compare as the elements do, NaN as the largest
// value and zeros of either sign as equal; for a descending order the keys are inverted. Sort: each element finds its
// place by counting (Rank.cuh). top-k for small k: a warp per row finds the next element k times; a row is read k
// times, from the caches but for the first. Larger k: by counting.
#include "kernels/Element.cuh"
#include "kernels/Rank.cuh"

using namespace p3d;

namespace {

P3D_DEVICE uint32_t keyOfFloat(float value) {
  if (value != value)
    return 0xffffffffu;
  uint32_t bits = toBits(value + 0.f); // -0 becomes 0
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
P3D_DEVICE uint32_t keyOf(float value) { return keyOfFloat(value); }
P3D_DEVICE uint32_t keyOf(Bf16 value) { return keyOfFloat(toFloat(value)); }
P3D_DEVICE uint32_t keyOf(F16 value) { return keyOfFloat(toFloat(value)); }
P3D_DEVICE uint32_t keyOf(uint32_t value) { return value; }
P3D_DEVICE uint32_t keyOf(int32_t value) { return static_cast<uint32_t>(value) ^ 0x80000000u; }
P3D_DEVICE uint64_t keyOf(int64_t value) { return static_cast<uint64_t>(value) ^ (uint64_t(1) << 63); }

template <typename T>
P3D_DEVICE void sort(const T *x, T *values, int32_t *indices, int cols, int k, int descending, int blocksPerRow) {
  using Key = decltype(keyOf(T()));
  int64_t r = blockIndex() / blocksPerRow;
  const T *row = x + r * cols;
  auto keyAt = [&](int at) { return descending ? static_cast<Key>(~keyOf(row[at])) : keyOf(row[at]); };
  int index = blockIndex() % blocksPerRow * rankThreads + threadIndex(), rank = rankOf<Key>(index, cols, keyAt);
  if (index >= cols || rank >= k)
    return;
  values[r * k + rank] = row[index];
  if (indices)
    indices[r * k + rank] = index;
}

P3D_DEVICE uint64_t warpMin(uint64_t value) {
  for (int mask = warpThreads / 2; mask > 0; mask /= 2) {
    uint64_t other = shuffleXor(value, mask);
    value = other < value ? other : value;
  }
  return value;
}

template <typename T> P3D_DEVICE void topK(const T *x, T *values, int32_t *indices, int64_t rows, int cols, int k) {
  int64_t r = globalThread() / warpThreads;
  if (r >= rows)
    return;
  const T *row = x + r * cols;
  // Inverted key and index in one number: the smallest is the largest element, equal ones in the order of their index.
  uint64_t last = 0;
  for (int i = 0; i < k; ++i) {
    uint64_t next = ~uint64_t(0);
    for (int col = laneIndex(); col < cols; col += warpThreads) {
      uint64_t candidate = static_cast<uint64_t>(~keyOf(row[col])) << 32 | static_cast<uint32_t>(col);
      if ((i == 0 || candidate > last) && candidate < next)
        next = candidate;
    }
    last = warpMin(next);
    int col = static_cast<int>(static_cast<uint32_t>(last));
    if (laneIndex() == 0) {
      values[r * k + i] = row[col];
      if (indices)
        indices[r * k + i] = col;
    }
  }
}

} // namespace

#define P3D_DEFINE_SORT(suffix, type)                                                                                  \
  P3D_KERNEL(256)                                                                                                      \
  p3d_sort_##suffix(const type *x, type *values, int32_t *indices, int32_t cols, int32_t k, int32_t descending,        \
                    int32_t blocksPerRow) {                                                                            \
    sort<type>(x, values, indices, cols, k, descending, blocksPerRow);                                                 \
  }
#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_DEFINE_SORT(suffix, type)                                                                                        \
  P3D_KERNEL(128)                                                                                                      \
  p3d_top_k_##suffix(const type *x, type *values, int32_t *indices, int64_t rows, int32_t cols, int32_t k) {           \
    topK<type>(x, values, indices, rows, cols, k);                                                                     \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
P3D_DEFINE(i32, int32_t)
P3D_DEFINE(ui32, uint32_t)
P3D_DEFINE_SORT(i64, int64_t)
