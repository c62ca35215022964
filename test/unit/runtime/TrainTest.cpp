// Parameters and schedules: what must not depend on the mesh, and the exact
// meaning of the flags.
#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/Program/Layout.h"
#include "runtime/Train/LossScale.h"
#include "runtime/Train/Parameters.h"
#include "runtime/Train/Random.h"
#include "runtime/Train/RunOptions.h"
#include <cmath>
#include <gmock/gmock.h>

using namespace p3d;
using testing::ElementsAre;

namespace {

Param weight(std::vector<int64_t> shape, std::vector<Shard> shards) {
  Param param{};
  param.name = "params.w";
  param.dtype = param.fileDType = P3D_F32;
  param.globalShape = param.pieceShape = shape;
  param.pieceOffset.assign(shape.size(), 0);
  param.shards = shards;
  param.grad = param.m = param.v = param.master = -1;
  param.countsInNorm = true;
  param.init = {InitKind::Normal, 1};
  return param;
}

/// Initialises every rank's part and puts the whole tensor together.
std::vector<float> wholeTensor(const Mesh &mesh, std::vector<Param> pieces) {
  std::vector<float> whole;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    Coordinates at = mesh.coordinates(rank);
    for (const Param &piece : pieces) {
      Layout layout = ownedLayout(piece, mesh, at);
      std::vector<float> local(size_t(layout.storageCount()), -1);
      initializeParameter(piece, layout, 42,
                          {reinterpret_cast<char *>(local.data()), P3D_F32});
      whole.resize(size_t(layout.globalCount()), NAN);
      layout.forEachRun([&](int64_t global, int64_t index, int64_t count) {
        for (int64_t i = 0; i < count; ++i)
          whole[size_t(global + i)] = local[size_t(index + i)];
      });
    }
  }
  return whole;
}

TEST(LossScale, IsHalvedWhereAGradientOverflowsAndDoubledAfter2000StepsWithout) {
  LossScale scale;
  scale.update(false);
  EXPECT_EQ(scale.value, 32768);
  for (int step = 1; step < 2000; ++step)
    scale.update(true);
  EXPECT_EQ(scale.value, 32768);
  EXPECT_EQ(scale.goodSteps, 1999);
  scale.update(true);
  EXPECT_EQ(scale.value, 65536);
  EXPECT_EQ(scale.goodSteps, 0);
  // Steps in a row count.
  for (int step = 1; step < 2000; ++step)
    scale.update(true);
  scale.update(false);
  scale.update(true);
  EXPECT_EQ(scale.value, 32768);
  EXPECT_EQ(scale.goodSteps, 1);
}

TEST(LossScale, HasALeastAndALargestValue) {
  LossScale scale;
  for (int step = 0; step < 40; ++step)
    scale.update(false);
  EXPECT_EQ(scale.value, 1);
  for (int step = 0; step < 2000 * 200; ++step)
    scale.update(true);
  EXPECT_EQ(scale.value, std::ldexp(1.0, 127));
  EXPECT_TRUE(std::isfinite(float(scale.value)));
}

TEST(LossScale, ThatIsGivenStays) {
  LossScale scale{8, false, 0};
  scale.update(false);
  for (int step = 0; step < 5000; ++step)
    scale.update(true);
  EXPECT_EQ(scale.value, 8);
}

TEST(Initialisation, DoesNotDependOnTheSharding) {
  std::vector<float> one = wholeTensor({1, 1, 1}, {weight({6, 10}, {})});
  for (float value : one)
    EXPECT_TRUE(std::isfinite(value));
  // Columns over tp, unevenly; rows over dp; both; and two pieces of the
  // tensor.
  EXPECT_EQ(wholeTensor({4, 1, 1}, {weight({6, 10}, {{1, {P3D_TP}, 3}})}), one);
  EXPECT_EQ(wholeTensor({1, 1, 4}, {weight({6, 10}, {{0, {P3D_DP}, 2}})}), one);
  EXPECT_EQ(wholeTensor({2, 1, 2}, {weight({6, 10}, {{0, {P3D_DP}, 3},
                                                     {1, {P3D_TP}, 5}})}),
            one);
  EXPECT_EQ(
      wholeTensor({2, 1, 2}, {weight({6, 10}, {{1, {P3D_TP, P3D_DP}, 3}})}),
      one);
  Param left = weight({6, 10}, {{1, {P3D_TP}, 2}}), right = left;
  left.pieceShape = {6, 4};
  right.pieceOffset = {0, 4}, right.pieceShape = {6, 6};
  right.shards = {{1, {P3D_TP}, 3}};
  EXPECT_EQ(wholeTensor({2, 1, 1}, {left, right}), one);
  // Each rank of dp has a share: of the tensor, and of a row in which it begins
  // at 40.
  for (RowShare share : {RowShare{0, 20}, RowShare{40, 40}, RowShare{0, 32}}) {
    Param shared = weight({6, 10}, {});
    shared.share = share;
    EXPECT_EQ(wholeTensor({1, 1, 3}, {shared}), one);
  }
}

TEST(Layouts, SharesOfARow) {
  // 60 elements from 40 on in a row of three parts of 40: two ranks have some.
  Param param = weight({6, 10}, {});
  param.share = {40, 40};
  param.offset = 1000, param.grad = 2000, param.m = 3000;
  Mesh mesh{1, 1, 3};
  for (auto [rank, begin, count, values, m] :
       {std::tuple{0, 0, 0, 1000, 3000}, {1, 0, 40, 1000, 3000},
        {2, 40, 20, 1160, 3000}}) {
    OwnedPart part = ownedPart(param, mesh, mesh.coordinates(rank));
    EXPECT_EQ(part.begin, begin);
    EXPECT_EQ(part.count, count);
    EXPECT_EQ(part.values, values);
    EXPECT_EQ(part.grad, values + 1000);
    EXPECT_EQ(part.m, m);
    EXPECT_EQ(part.master, -1);
  }
  // In the middle of a part of the row.
  param.share = {10, 40};
  OwnedPart part = ownedPart(param, mesh, {});
  EXPECT_EQ(part.count, 30);
  EXPECT_EQ(part.m, 3040);
  // Held as a share: padding follows.
  param.share = {0, 32, true, true};
  part = ownedPart(param, mesh, {0, 0, 1});
  EXPECT_EQ(part.values, 1000);
  EXPECT_EQ(part.grad, 2000);
  EXPECT_EQ(part.count, 28);
  EXPECT_EQ(valuesLayout(param, mesh, {0, 0, 1}).storageCount(), 32);
}

TEST(Initialisation, IsStandardNormal) {
  NormalStream stream(7, "params.w");
  double sum = 0, squares = 0;
  const int count = 100'000;
  for (int i = 0; i < count; ++i) {
    double value = stream.at(i);
    sum += value, squares += value * value;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NE(NormalStream(8, "params.w").at(0),
            NormalStream(7, "params.w").at(0));
  EXPECT_NE(NormalStream(7, "params.v").at(0),
            NormalStream(7, "params.w").at(0));
}

TEST(Initialisation, UniformHasItsDeviationOnAnyMesh) {
  Param param = weight({500, 200}, {});
  param.init = {InitKind::Uniform, 0.5};
  std::vector<float> one = wholeTensor({1, 1, 1}, {param});
  double sum = 0, squares = 0, most = 0;
  for (float value : one)
    sum += value, squares += value * value, most = std::max(most, std::fabs(double(value)));
  EXPECT_NEAR(sum / double(one.size()), 0, 0.01);
  EXPECT_NEAR(squares / double(one.size()), 0.25, 0.005);
  EXPECT_LE(most, 0.5 * std::sqrt(3.));
  EXPECT_GT(most, 0.499 * std::sqrt(3.));
  param.shards = {{0, {P3D_DP}, 125}, {1, {P3D_TP}, 67}};
  EXPECT_EQ(wholeTensor({3, 1, 4}, {param}), one);
}

TEST(Initialisation, PhiloxGivesThePublishedNumbers) {
  // Known answers of Random123.
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                     {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Initialisation, PaddingIsZero) {
  Mesh mesh{4, 1, 1};
  std::vector<float> local(3, -1);
  Param param = weight({10}, {{0, {P3D_TP}, 3}});
  initializeParameter(param, localLayout(param, mesh, mesh.coordinates(3)), 1,
                      {reinterpret_cast<char *>(local.data()), P3D_F32});
  EXPECT_NE(local[0], 0);
  EXPECT_EQ(local[1], 0);
  EXPECT_EQ(local[2], 0);
}

TEST(Meshes, NeighboursOnTp) {
  Mesh mesh{4, 2, 1, false, 2};
  EXPECT_EQ(mesh.along(P3D_TP_MAJOR), 2);
  EXPECT_EQ(mesh.along(P3D_TP_MINOR), 2);
  Coordinates at = mesh.coordinates(7); // tp 3, pp 1
  EXPECT_EQ(mesh.along(P3D_TP_MAJOR, at), 1);
  EXPECT_EQ(mesh.along(P3D_TP_MINOR, at), 1);
  EXPECT_THAT(mesh.group(at, {P3D_TP_MINOR}), ElementsAre(6, 7));
  EXPECT_THAT(mesh.group(at, {P3D_TP_MAJOR}), ElementsAre(5, 7));
  EXPECT_THAT(mesh.group(at, {P3D_TP}), ElementsAre(4, 5, 6, 7));
}

TEST(Layouts, OneOwnerPerElement) {
  Mesh mesh{4, 1, 2, false, 2};
  for (std::vector<Shard> shards : {std::vector<Shard>{},
                                    {{0, {P3D_TP}, 2}},
                                    {{0, {P3D_TP_MAJOR}, 3}},
                                    {{0, {P3D_TP_MINOR}, 3}},
                                    {{0, {P3D_DP}, 3}},
                                    {{0, {P3D_DP, P3D_TP_MAJOR}, 2}},
                                    {{0, {P3D_DP, P3D_TP}, 1}}}) {
    Param param = weight({6}, shards);
    std::vector<int> owners(6);
    for (int rank = 0; rank < mesh.size(); ++rank) {
      Coordinates at = mesh.coordinates(rank);
      if (ownsCopy(param, mesh, at, {P3D_TP, P3D_DP}))
        localLayout(param, mesh, at)
            .forEachRun([&](int64_t global, int64_t, int64_t count) {
              for (int64_t i = 0; i < count; ++i)
                ++owners[size_t(global + i)];
            });
    }
    EXPECT_THAT(owners, testing::Each(1));
  }
}

TEST(Layouts, RunsAreAsLongAsTheyCanBe) {
  Layout layout{{4, 3, 5}, {1, 0, 0}, {2, 3, 5}, {2, 3, 5}};
  int runs = 0;
  layout.forEachRun([&](int64_t global, int64_t local, int64_t count) {
    EXPECT_EQ(global, 15);
    EXPECT_EQ(local, 0);
    EXPECT_EQ(count, 30);
    ++runs;
  });
  EXPECT_EQ(runs, 1);
}

TEST(LearningRate, Schedules) {
  RunOptions options;
  options.steps = 110, options.warmup = 10;
  options.learningRate = 1, options.minLearningRate = 0.1;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 1), 0.1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 10), 1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 110), 1);
  options.schedule = LearningRateSchedule::Cosine;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 60), 0.55);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 110), 0.1);
  options.schedule = LearningRateSchedule::Linear;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 35), 0.775);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 110), 0.1);
  options.schedule = LearningRateSchedule::Wsd;
  EXPECT_DOUBLE_EQ(learningRateAt(options, 88), 1);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 99), 0.55);
  EXPECT_DOUBLE_EQ(learningRateAt(options, 110), 0.1);
}

TEST(Options, SurviveTheWayToTheRanks) {
  RunOptions options;
  options.steps = 7, options.learningRate = 0.1 + 0.2, options.seed = ~0ull;
  options.schedule = LearningRateSchedule::Wsd;
  RunOptions copy = RunOptions::fromJson(options.toJson());
  EXPECT_EQ(copy.toJson(), options.toJson());
  EXPECT_EQ(copy.learningRate, options.learningRate);
  EXPECT_EQ(copy.seed, options.seed);
}

TEST(HalfFloats, RoundTripAndRounding) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = fromF16(uint16_t(bits));
    if (value == value)
      ASSERT_EQ(toF16(value), bits);
    float wide = fromBF16(uint16_t(bits));
    if (wide == wide)
      ASSERT_EQ(toBF16(wide), bits);
  }
  EXPECT_EQ(fromF16(toF16(65519.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(fromF16(toF16(65520.0f))));
  EXPECT_EQ(fromF16(toF16(1 + 0x1p-11f)), 1.0f);
  EXPECT_EQ(fromF16(toF16(1 + 0x1.8p-10f)), 1 + 0x1p-9f);
  EXPECT_EQ(fromBF16(toBF16(1 + 0x1p-8f)), 1.0f);
  EXPECT_TRUE(std::isnan(fromBF16(toBF16(NAN))));
  EXPECT_TRUE(std::isnan(fromF16(toF16(NAN))));
}

} // namespace
