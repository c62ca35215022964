// Predicted times against the formulas that they come from.
#include "passes/Support/CostModel.h"
#include <gtest/gtest.h>

using namespace p3d;

namespace {
const Link kLink{1e9, 1e-5};

TEST(CostModel, LargeReductionsAreRings) {
  // 2 * 3/4 of 4 GB at 1 GB/s, and 6 hops.
  EXPECT_DOUBLE_EQ(allReduceSeconds(4e9, 4, kLink), 6 + 6e-5);
  EXPECT_DOUBLE_EQ(allReduceSeconds(3e9, 3, kLink), 4 + 4e-5);
}

TEST(CostModel, SmallReductionsAreTrees) {
  // 2 * 3 hops of 10 bytes over 8 ranks, where a ring has 14 hops.
  EXPECT_DOUBLE_EQ(allReduceSeconds(10, 8, kLink), 6 * 1e-5 + 6 * 10 / 1e9);
  // 5 ranks need a tree of depth 3, still less than the ring's 8 hops.
  EXPECT_DOUBLE_EQ(allReduceSeconds(10, 5, kLink), 6 * 1e-5 + 6 * 10 / 1e9);
}

TEST(CostModel, GathersScattersAndExchanges) {
  for (auto seconds : {allGatherSeconds, reduceScatterSeconds, allToAllSeconds})
    EXPECT_DOUBLE_EQ(seconds(8e9, 8, kLink), 7 + 7e-5);
  EXPECT_DOUBLE_EQ(transferSeconds(2e9, kLink), 2 + 1e-5);
}

TEST(CostModel, OneRankNeedsNothing) {
  for (auto seconds : {allReduceSeconds, allGatherSeconds, reduceScatterSeconds, allToAllSeconds})
    EXPECT_EQ(seconds(1e9, 1, kLink), 0);
}

TEST(CostModel, KindsByName) {
  EXPECT_EQ(messageSeconds("all_reduce", 1e6, 4, kLink), allReduceSeconds(1e6, 4, kLink));
  EXPECT_EQ(messageSeconds("all_gather", 1e6, 4, kLink), allGatherSeconds(1e6, 4, kLink));
  EXPECT_EQ(messageSeconds("reduce_scatter", 1e6, 4, kLink), reduceScatterSeconds(1e6, 4, kLink));
  EXPECT_EQ(messageSeconds("all_to_all", 1e6, 4, kLink), allToAllSeconds(1e6, 4, kLink));
  EXPECT_EQ(messageSeconds("send", 1e6, 2, kLink), transferSeconds(1e6, kLink));
}

TEST(CostModel, WorkIsTheLongerOfArithmeticAndMemory) {
  Cluster cluster;
  cluster.flopsPerSecond = {{"f32", 1e12}, {"bf16", 4e12}};
  cluster.memoryBytesPerSecond = 1e10;
  cluster.computeEfficiency = 0.5;
  cluster.memoryEfficiency = 0.25;
  EXPECT_DOUBLE_EQ(workSeconds(1e12, 1, "f32", cluster), 2);
  EXPECT_DOUBLE_EQ(workSeconds(1e12, 1, "bf16", cluster), 0.5);
  EXPECT_DOUBLE_EQ(workSeconds(1, 1e10, "bf16", cluster), 4);
  EXPECT_DOUBLE_EQ(workSeconds(1e12, 1, "i32", cluster), 2);
}
} // namespace
