// Stable sort and top-k of rows. Elements become unsigned keys that compare as the elements do, NaN as the largest
// value and zeros of either sign as equal; a key and its index together make every order total, so that a fast sort is
// a stable one.
#include "kernels/Kernels.h"
#include "kernels/cpu/Element.h"
#include "kernels/cpu/Parallel.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

using namespace p3d;

static uint32_t keyOf(float value) {
  if (std::isnan(value))
    return 0xffffffffu;
  uint32_t bits;
  value += 0.f; // -0 becomes 0
  std::memcpy(&bits, &value, sizeof bits);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
static uint32_t keyOf(uint32_t value) { return value; }
static uint32_t keyOf(int32_t value) { return static_cast<uint32_t>(value) ^ 0x80000000u; }
static uint64_t keyOf(int64_t value) { return static_cast<uint64_t>(value) ^ (uint64_t(1) << 63); }

namespace {

template <typename T> class RowSorter {
public:
  RowSorter(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t cols)
      : dtype(dtype), x(x), values(values), indices(indices), row(cols), sorted(cols), keys(cols) {}

  /// Row number r of x, its first k elements in order as row r of the results.
  void run(int64_t r, int64_t k, bool descending) {
    load(r);
    for (size_t c = 0; c < row.size(); ++c) {
      Key key = keyOf(row[c]);
      keys[c] = {descending ? ~key : key, static_cast<int32_t>(c)};
    }
    if (k < static_cast<int64_t>(keys.size()))
      std::partial_sort(keys.begin(), keys.begin() + k, keys.end());
    else
      std::sort(keys.begin(), keys.end());
    store(r, k);
  }

private:
  using Key = decltype(keyOf(T()));

  void load(int64_t r) {
    int64_t cols = static_cast<int64_t>(row.size());
    if constexpr (std::is_same_v<T, float>)
      widen(dtype, offset(dtype, x, r * cols), row.data(), cols);
    else
      std::copy_n(static_cast<const T *>(x) + r * cols, cols, row.data());
  }

  void store(int64_t r, int64_t k) {
    for (int64_t c = 0; c < k; ++c)
      sorted[c] = row[keys[c].second];
    if constexpr (std::is_same_v<T, float>)
      narrow(dtype, sorted.data(), offset(dtype, values, r * k), k);
    else
      std::copy_n(sorted.data(), k, static_cast<T *>(values) + r * k);
    for (int64_t c = 0; indices && c < k; ++c)
      indices[r * k + c] = keys[c].second;
  }

  int32_t dtype;
  const void *x;
  void *values;
  int32_t *indices;
  std::vector<T> row, sorted;
  std::vector<std::pair<Key, int32_t>> keys;
};

} // namespace

template <typename T>
static void sortRows(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols,
                     int64_t k, bool descending) {
  parallelFor(rows, grainOf(cols), [&](int64_t begin, int64_t end) {
    RowSorter<T> sorter(dtype, x, values, indices, cols);
    for (int64_t r = begin; r < end; ++r)
      sorter.run(r, k, descending);
  });
}

static void sortRowsOf(const char *kernel, int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows,
                       int64_t cols, int64_t k, bool descending) {
  if (dtype == P3D_F32 || dtype == P3D_BF16 || dtype == P3D_F16)
    sortRows<float>(dtype, x, values, indices, rows, cols, k, descending);
  else if (dtype == P3D_I32)
    sortRows<int32_t>(dtype, x, values, indices, rows, cols, k, descending);
  else if (dtype == P3D_I64)
    sortRows<int64_t>(dtype, x, values, indices, rows, cols, k, descending);
  else if (dtype == P3D_UI32)
    sortRows<uint32_t>(dtype, x, values, indices, rows, cols, k, descending);
  else
    refuseElementType(kernel, dtype);
}

void p3d_top_k(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols, int64_t k) {
  sortRowsOf("p3d_top_k", dtype, x, values, indices, rows, cols, std::min(k, cols), /*descending=*/true);
}

void p3d_sort(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols,
              int32_t descending) {
  sortRowsOf("p3d_sort", dtype, x, values, indices, rows, cols, cols, descending != 0);
}
