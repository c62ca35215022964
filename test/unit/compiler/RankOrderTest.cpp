// The groups of the worked example, in both orders, and of a mesh that is no power of two.
#include "compiler/RankOrder.h"
#include <gtest/gtest.h>

using namespace p3d;

using Group = std::vector<int64_t>;

TEST(RankOrder, DefaultOrder) {
  RankOrder order({4, 4, 2}, RankOrder::TpDpPp);
  EXPECT_EQ(order.getTpGroups().size(), 8u);
  EXPECT_EQ(order.getTpGroups()[0], (Group{0, 1, 2, 3}));
  EXPECT_EQ(order.getTpGroups()[1], (Group{4, 5, 6, 7}));
  EXPECT_EQ(order.getTpGroups()[7], (Group{28, 29, 30, 31}));
  EXPECT_EQ(order.getDpGroups()[0], (Group{0, 4}));
  EXPECT_EQ(order.getDpGroups()[3], (Group{3, 7}));
  EXPECT_EQ(order.getDpGroups()[4], (Group{8, 12}));
  EXPECT_EQ(order.getDpGroups()[15], (Group{27, 31}));
  EXPECT_EQ(order.getPpGroups()[0], (Group{0, 8, 16, 24}));
  EXPECT_EQ(order.getPpGroups()[1], (Group{1, 9, 17, 25}));
  EXPECT_EQ(order.getPpGroups()[7], (Group{7, 15, 23, 31}));
  EXPECT_EQ(order.getStageGroups({0, 3})[0], (Group{0, 24}));
  EXPECT_EQ(order.getStageGroups({0, 3})[7], (Group{7, 31}));
  EXPECT_EQ(order.getNormGroups()[0], (Group{0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27}));
}

TEST(RankOrder, PipelineBeforeData) {
  RankOrder order({4, 4, 2}, RankOrder::TpPpDp);
  EXPECT_EQ(order.getDpGroups()[0], (Group{0, 16}));
  EXPECT_EQ(order.getDpGroups()[15], (Group{15, 31}));
  EXPECT_EQ(order.getPpGroups()[0], (Group{0, 4, 8, 12}));
  EXPECT_EQ(order.getPpGroups()[7], (Group{19, 23, 27, 31}));
}

TEST(RankOrder, OddMesh) {
  RankOrder order({2, 4, 3}, RankOrder::TpDpPp);
  EXPECT_EQ(order.getDpGroups()[0], (Group{0, 2, 4}));
  EXPECT_EQ(order.getDpGroups()[1], (Group{1, 3, 5}));
  EXPECT_EQ(order.getDpGroups().back(), (Group{19, 21, 23}));
}

TEST(RankOrder, RankAndCoordinatesAreInverse) {
  for (auto kind : {RankOrder::TpDpPp, RankOrder::TpPpDp}) {
    RankOrder order({2, 3, 5}, kind);
    EXPECT_EQ(RankOrder::parse(order.getName()), kind);
    for (int64_t rank = 0; rank < 30; ++rank)
      EXPECT_EQ(order.rankOf(order.coordinatesOf(rank)), rank);
  }
  EXPECT_FALSE(RankOrder::parse("pp-dp-tp"));
}
