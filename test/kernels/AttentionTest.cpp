// Attention and its gradient: grouped key heads, s != t, sizes around and beyond a tile, masks with every kind of
// broadcast, rows with nothing to see, finite and infinite values for hidden scores.
#include "kernels/reference/Reference.h"
#include "test/kernels/Tensor.h"
#include <array>
#include <cmath>
#include <gtest/gtest.h>

using namespace p3dtest;

namespace {
struct AttentionCase {
  int64_t b, s, t, h, hk, d;
  bool causal = false;
  double maskedValue = -INFINITY;
  std::vector<double> mask = {};
  std::array<int64_t, 4> maskStride = {};
  double size = 1; // of q and k: large ones give scores of +-80
};
} // namespace

static void check(int32_t dtype, const AttentionCase &c, const std::string &what) {
  int64_t queries = c.b * c.s * c.h * c.d, keys = c.b * c.t * c.hk * c.d, rows = c.b * c.h * c.s;
  float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.d)));
  Tensor q(dtype, skewed(queries, 61, c.size)), k(dtype, skewed(keys, 62, c.size)), v(dtype, skewed(keys, 63));
  Tensor dO(dtype, skewed(queries, 64)), mask(P3D_F32, c.mask);
  const float *maskData = c.mask.empty() ? nullptr : mask.floats();
  Tensor o(dtype, queries), lse(P3D_F32, rows), dq(dtype, queries), dk(dtype, keys), dv(dtype, keys);
  p3d_attention(dtype, q.data(), k.data(), v.data(), maskData, c.maskStride.data(), o.data(), lse.floats(), c.b, c.s,
                c.t, c.h, c.hk, c.d, scale, c.causal, static_cast<float>(c.maskedValue));
  p3d_attention_grad(dtype, dO.data(), q.data(), k.data(), v.data(), maskData, c.maskStride.data(), o.data(),
                     lse.floats(), dq.data(), dk.data(), dv.data(), c.b, c.s, c.t, c.h, c.hk, c.d, scale, c.causal,
                     static_cast<float>(c.maskedValue));

  std::vector<double> maskValues = mask.values();
  reference::AttentionShape shape = {c.b,
                                     c.s,
                                     c.t,
                                     c.h,
                                     c.hk,
                                     c.d,
                                     scale,
                                     c.causal,
                                     static_cast<float>(c.maskedValue),
                                     c.mask.empty() ? nullptr : maskValues.data(),
                                     c.maskStride.data()};
  std::vector<double> wantO(queries), wantLse(rows), wantDq(queries), wantDk(keys), wantDv(keys);
  reference::attention(shape, q.values().data(), k.values().data(), v.values().data(), wantO.data(), wantLse.data());
  // Scores of size x carry f32 errors of x * 2^-24, which the exponential makes relative errors.
  double slack = 2 + 4 * c.size * c.size;
  expectClose(o.values(), wantO, attentionTolerance(dtype), what + " o " + nameOf(dtype), slack);
  expectClose(lse.values(), wantLse, P3D_F32, what + " lse", slack);
  reference::attentionGrad(shape, dO.values().data(), q.values().data(), k.values().data(), v.values().data(),
                           o.values().data(), wantDq.data(), wantDk.data(), wantDv.data());
  expectClose(dq.values(), wantDq, attentionTolerance(dtype), what + " dq " + nameOf(dtype), slack);
  expectClose(dk.values(), wantDk, attentionTolerance(dtype), what + " dk " + nameOf(dtype), slack);
  expectClose(dv.values(), wantDv, attentionTolerance(dtype), what + " dv " + nameOf(dtype), slack);
}

static void checkAllTypes(const AttentionCase &c, const std::string &what) {
  for (int32_t dtype : floatTypes)
    check(dtype, c, what);
}

TEST(Attention, MatchesReference) {
  checkAllTypes({1, 1, 1, 1, 1, 1}, "one");
  checkAllTypes({2, 5, 7, 3, 3, 4}, "small");
  checkAllTypes({1, 129, 257, 1, 1, 9}, "beyond a tile");
  checkAllTypes({1, 3, 300, 2, 2, 33}, "few queries");
}

TEST(Attention, IsCausal) {
  for (bool isInfinite : {true, false}) {
    double hidden = isInfinite ? -INFINITY : -1e30;
    checkAllTypes({2, 6, 6, 2, 2, 5, true, hidden}, "square");
    checkAllTypes({1, 200, 200, 1, 1, 8, true, hidden}, "tiles");
    checkAllTypes({1, 3, 140, 1, 1, 8, true, hidden}, "more keys");
    checkAllTypes({1, 140, 5, 1, 1, 8, true, hidden}, "rows that see nothing");
  }
}

TEST(Attention, SharesKeyHeads) {
  checkAllTypes({2, 9, 9, 6, 2, 8, true}, "grouped");
  checkAllTypes({1, 130, 131, 4, 1, 16, true}, "one key head");
}

// Head sizes of models, those in between, and enough queries and keys for several tiles of each.
TEST(Attention, TakesEveryHeadSize) {
  checkAllTypes({1, 150, 150, 2, 1, 64, true}, "64 columns");
  checkAllTypes({1, 70, 130, 4, 2, 80, true}, "80 columns");
  checkAllTypes({1, 130, 100, 1, 1, 128}, "128 columns");
  checkAllTypes({1, 90, 90, 2, 2, 128, true, -2}, "128 columns, hidden scores that count");
  checkAllTypes({1, 66, 66, 1, 1, 99, true}, "99 columns");
}

TEST(Attention, AddsMasks) {
  const int64_t b = 2, s = 5, t = 140, h = 3;
  AttentionCase c = {b, s, t, h, h, 8};
  c.mask = skewed(b * h * s * t, 65);
  c.maskStride = {h * s * t, s * t, t, 1};
  checkAllTypes(c, "full mask");
  c.mask = skewed(h * t, 66);
  c.maskStride = {0, t, 0, 1};
  checkAllTypes(c, "mask over heads and keys");
  c.mask = skewed(b * s, 67);
  c.maskStride = {s, 0, 1, 0};
  checkAllTypes(c, "mask constant along keys");
  c.mask = skewed(s * t, 68);
  c.maskStride = {0, 0, 1, s};
  checkAllTypes(c, "transposed mask");
}

// Padding at the left of the second sequence: whole rows of the mask hide everything. Values so low that double, too,
// loses the scores beside them: such rows attend to all keys alike.
TEST(Attention, HidesPadding) {
  const int64_t b = 2, s = 150, t = 150;
  for (double hidden : {-double(INFINITY), -1e30, -3.3895313892515355e38})
    for (bool causal : {false, true}) {
      AttentionCase c = {b, s, t, 2, 2, 4, causal, hidden};
      c.mask.assign(b * t, 0);
      std::fill_n(c.mask.begin() + t, 140, hidden);
      c.maskStride = {t, 0, 0, 1};
      checkAllTypes(c, "padding " + std::to_string(hidden));
    }
}

// A hidden value that is not far below the scores keeps its weight in the softmax, also in tiles that are hidden whole.
TEST(Attention, KeepsTheWeightOfFiniteHiddenScores) {
  checkAllTypes({1, 5, 5, 1, 1, 4, true, -3}, "small");
  checkAllTypes({1, 130, 300, 1, 1, 4, true, -10}, "tiles");
}

TEST(Attention, TakesLargeScores) { checkAllTypes({1, 40, 40, 2, 2, 16, true, -INFINITY, {}, {}, 4}, "large"); }

TEST(Attention, IsTheSameOnEveryRun) {
  const int64_t s = 300, d = 16;
  Tensor q(P3D_F32, skewed(s * d, 61)), k(P3D_F32, skewed(s * d, 62)), v(P3D_F32, skewed(s * d, 63));
  std::vector<std::vector<double>> results;
  for (int run = 0; run < 2; ++run) {
    Tensor o(P3D_F32, s * d), lse(P3D_F32, s);
    p3d_attention(P3D_F32, q.data(), k.data(), v.data(), nullptr, nullptr, o.data(), lse.floats(), 1, s, s, 1, 1, d,
                  0.25f, 1, -INFINITY);
    results.push_back(o.values());
  }
  EXPECT_EQ(results[0], results[1]);
}
