// The einsum kernel: every layout of the three matrices, loops that walk over C and loops that add to it, 16-bit
// operands with a 16-bit or f32 result, accumulation, broadcasts, empty sums.
#include "kernels/reference/Reference.h"
#include "test/kernels/Tensor.h"
#include <array>
#include <gtest/gtest.h>
#include <random>

using namespace p3dtest;

/// Runs a plan on operands of the given sizes and compares all of C, also what the plan must leave alone.
static void check(const p3d_einsum_plan &plan, int64_t aCount, int64_t bCount, int64_t cCount, int32_t dtype,
                  int32_t cDtype, bool accumulate, const std::string &what) {
  Tensor a(dtype, skewed(aCount, 51)), b(dtype, skewed(bCount, 52));
  Tensor c = accumulate ? Tensor(cDtype, skewed(cCount, 53)) : Tensor(cDtype, cCount); // else full of NaN
  std::vector<double> want = c.values();
  reference::einsum(plan, a.values().data(), b.values().data(), want.data(), accumulate);
  p3d_einsum(&plan, dtype, cDtype, a.data(), b.data(), c.data(), accumulate);
  expectClose(c.values(), want, cDtype, what);
}

static void checkAllTypes(const p3d_einsum_plan &plan, int64_t aCount, int64_t bCount, int64_t cCount,
                          const std::string &what) {
  for (int32_t dtype : floatTypes)
    for (int32_t cDtype : {int32_t(P3D_F32), dtype})
      for (bool accumulate : {false, true})
        check(plan, aCount, bCount, cCount, dtype, cDtype, accumulate, what);
}

namespace {
/// Strides of a matrix [rows, cols] that takes `count` elements.
struct Layout {
  int64_t row, col, count;
};
} // namespace

static std::vector<Layout> layoutsOf(int64_t rows, int64_t cols) {
  return {{cols, 1, rows * cols},                    // row-major
          {1, rows, rows * cols},                    // column-major
          {cols + 3, 1, rows * (cols + 3)},          // rows apart
          {1, rows + 2, cols * (rows + 2)},          // columns apart
          {2 * cols, 2, 2 * rows * cols},            // every second element
          {3, 3 * rows + 1, cols * (3 * rows + 1)}}; // no unit stride, transposed
}

TEST(Einsum, TakesEveryLayout) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{5, 7, 11}, {1, 9, 4}, {8, 1, 13}, {1, 1, 6}, {4, 3, 1}})
    for (const Layout &a : layoutsOf(m, k))
      for (const Layout &b : layoutsOf(k, n))
        for (const Layout &c : layoutsOf(m, n)) {
          p3d_einsum_plan plan = {0, {}, {}, {}, {}, m, n, k, a.row, a.col, b.row, b.col, c.row, c.col};
          checkAllTypes(plan, a.count, b.count, c.count, "layout");
        }
}

// Larger than one tile in each dimension.
TEST(Einsum, TilesLargeProducts) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{515, 3, 70}, {3, 1030, 20}, {9, 5, 2051}})
    for (const Layout &a : {layoutsOf(m, k)[0], layoutsOf(m, k)[4]})
      for (const Layout &c : {layoutsOf(m, n)[0], layoutsOf(m, n)[1], layoutsOf(m, n)[5]}) {
        p3d_einsum_plan plan = {0, {}, {}, {}, {}, m, n, k, a.row, a.col, n, 1, c.row, c.col};
        checkAllTypes(plan, a.count, k * n, c.count, "tiles");
      }
}

// Attention scores without a transpose: q [b,s,h,d], k [b,t,h,d] -> [b,h,s,t].
TEST(Einsum, LoopsOverBatchAndHeads) {
  const int64_t b = 2, s = 5, t = 6, h = 3, d = 4;
  p3d_einsum_plan plan = {2, {b, h}, {s * h * d, d}, {t * h * d, d}, {h * s * t, s * t}, s, t, d, h * d, 1, 1, h * d,
                          t, 1};
  checkAllTypes(plan, b * s * h * d, b * t * h * d, b * h * s * t, "scores");
}

// A weight gradient: x [b,s,d], dy [b,s,f] -> [d,f], b and s summed; b as a loop, so that it adds to C.
TEST(Einsum, SumsOverLoops) {
  const int64_t b = 3, s = 5, d = 7, f = 4;
  p3d_einsum_plan plan = {1, {b}, {s * d}, {s * f}, {0}, d, f, s, 1, d, f, 1, f, 1};
  checkAllTypes(plan, b * s * d, b * s * f, d * f, "weight gradient");
}

// A summed loop that no stride pattern can merge, outside one that walks over C.
TEST(Einsum, SumsOutsideKeptLoops) {
  const int64_t e = 3, g = 2, m = 4, n = 5, k = 6;
  p3d_einsum_plan plan = {2, {e, g}, {m * k + 1, e * (m * k + 1)}, {g * k * n, k * n}, {0, m * n}, m, n, k, k, 1, n, 1,
                          n, 1};
  checkAllTypes(plan, g * e * (m * k + 1), e * g * k * n, g * m * n, "summed outside");
}

// Element-wise products, outer products and broadcasts are einsums too.
TEST(Einsum, HasNoMatrixDimension) {
  p3d_einsum_plan elementWise = {2, {3, 5}, {5, 1}, {5, 1}, {5, 1}, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  checkAllTypes(elementWise, 15, 15, 15, "element-wise");
  p3d_einsum_plan outer = {2, {3, 5}, {1, 0}, {0, 1}, {5, 1}, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  checkAllTypes(outer, 3, 5, 15, "outer");
  p3d_einsum_plan broadcast = {1, {4}, {0}, {0}, {6}, 2, 3, 5, 5, 1, 3, 1, 3, 1};
  checkAllTypes(broadcast, 10, 15, 24, "broadcast");
  p3d_einsum_plan windows = {0, {}, {}, {}, {}, 6, 3, 4, 1, 1, 3, 1, 3, 1}; // rows of a overlap
  checkAllTypes(windows, 9, 12, 18, "windows");
}

TEST(Einsum, TakesEmptySums) {
  p3d_einsum_plan noK = {0, {}, {}, {}, {}, 3, 4, 0, 1, 1, 4, 1, 4, 1};
  checkAllTypes(noK, 1, 1, 12, "k = 0");
  p3d_einsum_plan noLoop = {1, {0}, {1}, {1}, {0}, 3, 4, 2, 2, 1, 4, 1, 4, 1};
  checkAllTypes(noLoop, 6, 8, 12, "summed loop of extent 0");
  p3d_einsum_plan noRows = {0, {}, {}, {}, {}, 0, 4, 2, 2, 1, 4, 1, 4, 1};
  checkAllTypes(noRows, 1, 8, 1, "m = 0");
}

// Sums over loops are rounded once: 256 terms of 1 + 1/128 in bf16 would stop growing if each were rounded.
TEST(Einsum, RoundsOnce) {
  std::vector<double> ones(256, 1), terms(256, 1 + 1. / 128);
  Tensor a(P3D_BF16, ones), b(P3D_BF16, terms), c(P3D_BF16, std::vector<double>{0});
  p3d_einsum_plan plan = {2, {16, 16}, {16, 1}, {1, 16}, {0, 0}, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  p3d_einsum(&plan, P3D_BF16, P3D_BF16, a.data(), b.data(), c.data(), 0);
  EXPECT_EQ(c.values()[0], 258);
}

// Random loop nests: each dimension of C, and each summed one, with random strides for a permuted dense layout.
TEST(Einsum, MatchesReferenceOnRandomPlans) {
  std::mt19937 generator(7);
  for (int round = 0; round < 200; ++round) {
    p3d_einsum_plan plan = {};
    plan.loopCount = static_cast<int32_t>(generator() % 5);
    int64_t aSize = 1, bSize = 1, cSize = 1;
    auto place = [&](int64_t extent, int64_t &size) {
      int64_t stride = size;
      size *= extent;
      return stride;
    };
    bool inner = generator() % 2; // matrix dimensions innermost or outermost in memory
    auto matrix = [&] {
      plan.aK = place(plan.k = 1 + generator() % 6, aSize), plan.aM = place(plan.m = 1 + generator() % 6, aSize);
      plan.bN = place(plan.n = 1 + generator() % 6, bSize), plan.bK = place(plan.k, bSize);
      plan.cN = place(plan.n, cSize), plan.cM = place(plan.m, cSize);
    };
    if (inner)
      matrix();
    for (int32_t l = 0; l < plan.loopCount; ++l) {
      int kind = static_cast<int>(generator() % 4); // batch, only in a, only in b, summed
      plan.extent[l] = 1 + generator() % 4;
      plan.aLoop[l] = kind == 2 ? 0 : place(plan.extent[l], aSize);
      plan.bLoop[l] = kind == 1 ? 0 : place(plan.extent[l], bSize);
      plan.cLoop[l] = kind == 3 ? 0 : place(plan.extent[l], cSize);
    }
    if (!inner)
      matrix();
    checkAllTypes(plan, aSize, bSize, cSize, "plan " + std::to_string(round));
  }
}
