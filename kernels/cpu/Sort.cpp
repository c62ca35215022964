// Stable sort and top-k of rows. Both order the indices of a row; NaN counts as the largest value, and zeros of either
// sign are equal.
#include "kernels/Kernels.h"
#include "kernels/cpu/Element.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

using namespace p3d;

template <typename T> static bool isLess(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b))
      return !std::isnan(a) && std::isnan(b);
  return a < b;
}

namespace {
/// One row as keys that compare (f32 for 16-bit floats), and the order of its indices.
template <typename T> class RowOrder {
public:
  explicit RowOrder(int64_t cols) : keys(cols), order(cols) {}

  void load(int32_t dtype, const void *x, int64_t first) {
    int64_t cols = static_cast<int64_t>(keys.size());
    if constexpr (std::is_same_v<T, float>)
      widen(dtype, offset(dtype, x, first), keys.data(), cols);
    else
      std::copy_n(static_cast<const T *>(x) + first, cols, keys.data());
    std::iota(order.begin(), order.end(), 0);
  }

  // Equal keys keep the order of their indices: it makes every order total, so an unstable sort gives the stable one.
  void sort(int64_t count, bool descending) {
    auto before = [&](int32_t a, int32_t b) {
      if (isLess(keys[a], keys[b]) || isLess(keys[b], keys[a]))
        return descending ? isLess(keys[b], keys[a]) : isLess(keys[a], keys[b]);
      return a < b;
    };
    std::partial_sort(order.begin(), order.begin() + count, order.end(), before);
  }

  void store(int32_t dtype, void *values, int32_t *indices, int64_t first, int64_t count) const {
    std::vector<T> sorted(count);
    for (int64_t i = 0; i < count; ++i)
      sorted[i] = keys[order[i]];
    if constexpr (std::is_same_v<T, float>)
      narrow(dtype, sorted.data(), offset(dtype, values, first), count);
    else
      std::copy(sorted.begin(), sorted.end(), static_cast<T *>(values) + first);
    if (indices)
      std::copy_n(order.begin(), count, indices + first);
  }

private:
  std::vector<T> keys;
  std::vector<int32_t> order;
};
} // namespace

template <typename T>
static void orderRows(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols,
                      int64_t k, bool descending) {
  RowOrder<T> row(cols);
  for (int64_t r = 0; r < rows; ++r) {
    row.load(dtype, x, r * cols);
    row.sort(k, descending);
    row.store(dtype, values, indices, r * k, k);
  }
}

static void orderRowsOf(const char *kernel, int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows,
                        int64_t cols, int64_t k, bool descending) {
  if (dtype == P3D_F32 || dtype == P3D_BF16 || dtype == P3D_F16)
    orderRows<float>(dtype, x, values, indices, rows, cols, k, descending);
  else if (dtype == P3D_I32)
    orderRows<int32_t>(dtype, x, values, indices, rows, cols, k, descending);
  else if (dtype == P3D_I64)
    orderRows<int64_t>(dtype, x, values, indices, rows, cols, k, descending);
  else if (dtype == P3D_UI32)
    orderRows<uint32_t>(dtype, x, values, indices, rows, cols, k, descending);
  else
    refuseElementType(kernel, dtype);
}

void p3d_top_k(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols, int64_t k) {
  orderRowsOf("p3d_top_k", dtype, x, values, indices, rows, cols, std::min(k, cols), /*descending=*/true);
}

void p3d_sort(int32_t dtype, const void *x, void *values, int32_t *indices, int64_t rows, int64_t cols,
              int32_t descending) {
  orderRowsOf("p3d_sort", dtype, x, values, indices, rows, cols, cols, descending != 0);
}
