// Softmax and the pieces of the vocabulary-parallel cross-entropy: logits of +-80, -inf, rows that are -inf everywhere,
// targets in other shards, padding columns in an uneven last shard.
#include "kernels/reference/Reference.h"
#include "test/kernels/Tensor.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace p3dtest;

static const double negativeInfinity = -std::numeric_limits<double>::infinity();

/// Logits with a row of +80, one of -80, one with -inf in places, one -inf everywhere.
static Tensor logitsOf(int32_t dtype, int64_t rows, int64_t cols) {
  std::vector<double> x = skewed(rows * cols, 11, 2);
  for (int64_t c = 0; c < cols; ++c) {
    x[c] += 80;
    if (rows > 3) {
      x[cols + c] -= 80;
      x[2 * cols + c] = c % 3 == 0 ? negativeInfinity : x[2 * cols + c];
      x[3 * cols + c] = negativeInfinity;
    }
  }
  return {dtype, x};
}

TEST(Softmax, MatchesReference) {
  for (int32_t dtype : floatTypes)
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {9, 65}, {4, 1031}}) {
      Tensor x = logitsOf(dtype, rows, cols), y(dtype, rows * cols);
      p3d_softmax(dtype, x.data(), y.data(), rows, cols);
      std::vector<double> want(rows * cols);
      reference::softmax(x.values().data(), want.data(), rows, cols);
      expectClose(y.values(), want, dtype, "softmax", 8); // f32 rounds an exponent of 80 at 4e-6

      Tensor dy(dtype, skewed(rows * cols, 12)), dx(dtype, rows * cols);
      p3d_softmax_grad(dtype, y.data(), dy.data(), dx.data(), rows, cols);
      reference::softmaxGrad(y.values().data(), dy.values().data(), want.data(), rows, cols);
      expectClose(dx.values(), want, dtype, "softmax gradient");
    }
}

TEST(Softmax, TakesWideRows) {
  const int64_t rows = 2, cols = 20001;
  for (int32_t dtype : floatTypes) {
    Tensor x = logitsOf(dtype, rows, cols), y(dtype, rows * cols);
    p3d_softmax(dtype, x.data(), y.data(), rows, cols);
    std::vector<double> want(rows * cols);
    reference::softmax(x.values().data(), want.data(), rows, cols);
    expectClose(y.values(), want, dtype, "softmax", 8);
  }
}

TEST(Softmax, PassesNanOn) {
  Tensor x(P3D_F32, {1, NAN, 2}), y(P3D_F32, 3);
  p3d_softmax(P3D_F32, x.data(), y.data(), 1, 3);
  for (double value : y.values())
    EXPECT_TRUE(std::isnan(value));
}

namespace {
/// Columns [start, start + cols) of a vocabulary of `valid`.
struct Shard {
  int64_t rows, cols, start, valid;
};
} // namespace

static void checkShard(int32_t dtype, const Shard &s) {
  int64_t count = s.rows * s.cols;
  Tensor x = logitsOf(dtype, s.rows, s.cols), dloss(P3D_F32, skewed(s.rows, 13));
  Buffer<int32_t> targets(s.rows);
  for (int64_t r = 0; r < s.rows; ++r)
    targets[r] = static_cast<int32_t>((r * 7919) % s.valid); // some in other shards
  targets[0] = -100;                                         // a label that is left out
  Tensor max(P3D_F32, s.rows), sum(P3D_F32, s.rows), target(P3D_F32, s.rows), dx(dtype, count);
  std::vector<double> wantMax(s.rows), wantSum(s.rows), wantTarget(s.rows), wantDx(count);

  p3d_cross_entropy_max(dtype, x.data(), max.floats(), s.rows, s.cols, s.start, s.valid);
  reference::crossEntropyMax(x.values().data(), wantMax.data(), s.rows, s.cols, s.start, s.valid);
  EXPECT_EQ(max.values(), wantMax);
  p3d_cross_entropy_sum(dtype, x.data(), targets.data(), max.floats(), sum.floats(), target.floats(), s.rows, s.cols,
                        s.start, s.valid);
  reference::crossEntropySum(x.values().data(), targets.data(), wantMax.data(), wantSum.data(), wantTarget.data(),
                             s.rows, s.cols, s.start, s.valid);
  expectClose(sum.values(), wantSum, P3D_F32, "sum");
  EXPECT_EQ(target.values(), wantTarget);
  p3d_cross_entropy_grad(dtype, x.data(), targets.data(), max.floats(), sum.floats(), dloss.floats(), dx.data(), s.rows,
                         s.cols, s.start, s.valid);
  reference::crossEntropyGrad(x.values().data(), targets.data(), max.values().data(), sum.values().data(),
                              dloss.values().data(), wantDx.data(), s.rows, s.cols, s.start, s.valid);
  expectClose(dx.values(), wantDx, dtype, "dx", 4);
}

TEST(CrossEntropy, MatchesReference) {
  const std::vector<Shard> shards = {{1, 1, 0, 1},     {5, 17, 0, 17},  {9, 33, 33, 200},
                                     {6, 33, 99, 105}, {4, 16, 48, 48}, {7, 3001, 0, 3001}};
  for (int32_t dtype : floatTypes)
    for (const Shard &shard : shards)
      checkShard(dtype, shard);
}

// Four uneven shards, reduced as the caller does, give the loss of the whole row.
TEST(CrossEntropy, ShardsGiveTheWhole) {
  const int64_t rows = 5, vocabulary = 50, shards = 4, cols = 13; // 13 + 13 + 13 + 11
  std::vector<double> whole = skewed(rows * vocabulary, 14, 3);
  Buffer<int32_t> targets = {0, 12, 13, 49, 30};
  Buffer<float> max(rows, -INFINITY), sum(rows, 0), target(rows, 0), part(rows), part2(rows);
  std::vector<Tensor> logits;
  for (int64_t shard = 0; shard < shards; ++shard) {
    std::vector<double> x(rows * cols, 1000); // what padding holds must not matter
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < cols && shard * cols + c < vocabulary; ++c)
        x[r * cols + c] = whole[r * vocabulary + shard * cols + c];
    logits.emplace_back(P3D_F32, x);
    p3d_cross_entropy_max(P3D_F32, logits.back().data(), part.data(), rows, cols, shard * cols, vocabulary);
    for (int64_t r = 0; r < rows; ++r)
      max[r] = std::max(max[r], part[r]);
  }
  for (int64_t shard = 0; shard < shards; ++shard) {
    p3d_cross_entropy_sum(P3D_F32, logits[shard].data(), targets.data(), max.data(), part.data(), part2.data(), rows,
                          cols, shard * cols, vocabulary);
    for (int64_t r = 0; r < rows; ++r)
      sum[r] += part[r], target[r] += part2[r];
  }
  for (int64_t r = 0; r < rows; ++r) {
    double total = 0;
    for (int64_t c = 0; c < vocabulary; ++c)
      total += std::exp(whole[r * vocabulary + c]);
    double want = std::log(total) - whole[r * vocabulary + targets[r]];
    EXPECT_NEAR(std::log(sum[r]) + max[r] - target[r], want, 1e-5 * std::fabs(want));
  }
}
