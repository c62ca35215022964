// Packing of lives: known optima, and no overlap on random ones.
#include "passes/Memory/IntervalPacking.h"
#include <gtest/gtest.h>
#include <random>

using p3d::memory::LiveInterval;
using p3d::memory::mostAlive;
using p3d::memory::packIntervals;

namespace {
TEST(Packing, SharesBytesOfPastLives) {
  auto packing = packIntervals({{100, 0, 1}, {100, 1, 2}, {100, 2, 3}}, 64);
  EXPECT_EQ(packing.bytes, 256);
  EXPECT_EQ(packing.offsets[0], packing.offsets[2]);
}

TEST(Packing, FillsGaps) {
  auto packing = packIntervals({{256, 0, 1}, {64, 0, 5}, {128, 2, 3}, {128, 2, 5}}, 64);
  EXPECT_EQ(packing.bytes, 320);
}

TEST(Packing, TakesTheBestOrder) {
  // Largest first leaves a hole under the long life of the small piece.
  llvm::SmallVector<LiveInterval> lives{{64, 0, 9}, {128, 0, 1}, {192, 2, 3}, {128, 4, 5}, {64, 1, 2}};
  EXPECT_EQ(mostAlive(lives), 320);
  EXPECT_EQ(packIntervals(lives, 64).bytes, 320);
}

TEST(Packing, PutsWhatLiesOnTopFirst) {
  // A layer of Llama with attention and a gated MLP: by size and by life the temporaries take 208 and more.
  llvm::SmallVector<LiveInterval> lives{{16, 3, 5},   {64, 5, 17},  {16, 7, 10},  {16, 9, 21},  {2, 12, 15},  {2, 14, 21},
                                        {2, 17, 21},  {16, 21, 24}, {64, 24, 26}, {16, 26, 28}, {16, 28, 44}, {64, 33, 37},
                                        {56, 35, 39}, {56, 37, 39}, {56, 39, 41}, {64, 41, 43}, {16, 43, 44}};
  EXPECT_EQ(mostAlive(lives), 192);
  EXPECT_EQ(packIntervals(lives, 1).bytes, 192);
}

TEST(Packing, MostAlive) {
  EXPECT_EQ(mostAlive({}), 0);
  EXPECT_EQ(mostAlive({{100, 0, 1}, {50, 2, 2}, {70, 1, 1}}), 170);
}

TEST(Packing, OfNothingIsEmpty) { EXPECT_EQ(packIntervals({}, 64).bytes, 0); }

TEST(Packing, NeverOverlaps) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    llvm::SmallVector<LiveInterval> lives;
    for (int i = 0; i < 40; ++i) {
      int64_t first = random() % 30;
      lives.push_back({static_cast<int64_t>(random() % 1000), first, first + static_cast<int64_t>(random() % 10)});
    }
    auto packing = packIntervals(lives, 64);
    for (size_t i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(packing.offsets[i] % 64, 0);
      EXPECT_LE(packing.offsets[i] + lives[i].bytes, packing.bytes);
      for (size_t j = 0; j < i; ++j) {
        bool together = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        bool apart = packing.offsets[i] + lives[i].bytes <= packing.offsets[j] ||
                     packing.offsets[j] + lives[j].bytes <= packing.offsets[i];
        EXPECT_TRUE(!together || apart || !lives[i].bytes || !lives[j].bytes);
      }
    }
  }
}
} // namespace
