// Every schedule of the table passes the checker on every size; 1F1B has the published order.
#include "passes/Schedule/ScheduleChecker.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace p3d;

static std::string print(const StageOrder &order) { return llvm::join(llvm::map_range(order, toString), " "); }

/// Calls `visit` for every schedule of the table with every number of chunks up to three that it takes.
static void forEachSize(llvm::function_ref<void(const NamedSchedule &, ScheduleSize)> visit) {
  for (const NamedSchedule &entry : getSchedules())
    for (int64_t chunks = 1; chunks <= 3; ++chunks) {
      bool takes = entry.name == "interleaved" || chunks == entry.chunks;
      for (int64_t stages = 1; stages <= 8 && takes; ++stages)
        for (int64_t microbatches = 1; microbatches <= 12; ++microbatches)
          visit(entry, {stages, microbatches, chunks});
    }
}

// FAULTS: crossing sends deadlock (nccl#479, pytorch#109401, #172668).
TEST(Schedules, AllPassTheCheckerOnAllSizes) {
  forEachSize([](const NamedSchedule &entry, ScheduleSize size) {
    Schedule schedule = entry.make(size);
    auto fault = ScheduleChecker::forChain(size, entry.placement).check(schedule, countSlots(schedule));
    EXPECT_FALSE(fault) << entry.name.str() << " p=" << size.stages << " m=" << size.microbatches
                        << " v=" << size.chunks << ": " << *fault;
    EXPECT_EQ(splitsBackward(schedule), entry.splitsBackward);
  });
}

TEST(Schedules, OneForwardOneBackwardHasThePublishedOrder) {
  Schedule schedule = make1F1B({4, 8});
  EXPECT_EQ(print(schedule[0]), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  EXPECT_EQ(print(schedule[3]), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
  EXPECT_EQ(countSlots(schedule), (Slots{{4}, {3}, {2}, {1}}));
}

TEST(Schedules, FewMicrobatchesKeepNoMoreAliveThanThereAre) {
  EXPECT_EQ(print(make1F1B({4, 2})[0]), "F0 F1 B0 B1");
  EXPECT_EQ(countSlots(make1F1B({4, 2})), (Slots{{2}, {2}, {2}, {1}}));
}

TEST(Schedules, GPipeKeepsEveryMicrobatchAlive) {
  EXPECT_EQ(print(makeGPipe({2, 3})[1]), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(countSlots(makeGPipe({2, 3})), (Slots{{3}, {3}}));
}

// The charts of Schedules.cpp and ZeroBubble.cpp.
TEST(Schedules, HaveTheOrdersOfTheirCharts) {
  EXPECT_EQ(print(makeInterleaved({2, 4, 2})[1]), "F0 F1 F0.1 B0.1 F1.1 B1.1 F2 B0 F3 B1 F2.1 B2.1 F3.1 B3.1 B2 B3");
  EXPECT_EQ(print(makeZeroBubbleH1({3, 4})[0]), "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3");
  EXPECT_EQ(print(makeZeroBubbleH1({3, 4})[2]), "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3");
  EXPECT_EQ(print(makeZeroBubbleH2({3, 6})[0]), "F0 F1 F2 F3 F4 B0 W0 F5 B1 W1 B2 W2 B3 W3 B4 W4 B5 W5");
  EXPECT_EQ(print(makeZeroBubbleV({2, 4, 2})[0]),
            "F0 F1 F2 F0.1 B0.1 W0.1 F1.1 B1.1 W1.1 F3 B0 W0 F2.1 B2.1 W2.1 B1 W1 F3.1 B3.1 W3.1 B2 W2 B3 W3");
}

TEST(Schedules, ZeroBubbleVTurnsAtTheLastStage) {
  EXPECT_EQ(print(makeZeroBubbleV({2, 4, 2})[1]),
            "F0 F0.1 F1 F1.1 B0.1 W0.1 F2 B0 W0 F2.1 B1.1 W1.1 F3 B1 W1 F3.1 B2.1 W2.1 B2 B3.1 B3 W2 W3.1 W3");
}

TEST(Schedules, KeepAsManyMicrobatchesAliveAsPublished) {
  const int64_t p = 4, m = 16;
  for (int64_t i = 0; i < p; ++i) {
    EXPECT_EQ(countLive(makeZeroBubbleH1({p, m})[i]), p);
    EXPECT_EQ(countLive(makeZeroBubbleH2({p, m})[i]), 2 * p - 1);
    EXPECT_EQ(countLive(makeInterleaved({p, m, 2})[i]), 2 * (p - i - 1) + p + 1);
    // Half stages: as much memory as the p whole ones of 1F1B.
    EXPECT_LE(countLive(makeZeroBubbleV({p, m, 2})[i]), 2 * p);
  }
}

TEST(Schedules, PlaceChunksAsALoopOrAsAV) {
  // 16 layers on 4 stages, two chunks: stage 0 has layers 1, 2, 9, 10.
  EXPECT_EQ(placeOf(Placement::Loop, {0, 1}, 4), 4);
  EXPECT_EQ(placeOf(Placement::Vee, {0, 1}, 4), 7);
  for (Placement placement : {Placement::Loop, Placement::Vee})
    for (int64_t place = 0; place < 12; ++place)
      EXPECT_EQ(placeOf(placement, partAt(placement, place, 4), 4), place);
}

TEST(Schedules, AreFoundByName) {
  for (const NamedSchedule &entry : getSchedules())
    EXPECT_EQ(findSchedule(entry.name)->make, entry.make);
  EXPECT_EQ(findSchedule("2f2b"), nullptr);
  EXPECT_EQ(getScheduleNames(), "1f1b, auto, gpipe, interleaved, zb-h1, zb-h2, zb-v");
}

TEST(Schedules, ActionsReadBack) {
  for (Action action : {Action{Action::Forward, 0}, Action{Action::Backward, 12}, Action{Action::WeightGradient, 3, 2}})
    EXPECT_EQ(parseAction(toString(action)), action);
  for (const char *text : {"", "F", "X1", "F-1", "F1x", "P", "F1.", "F.1", "F1.-1"})
    EXPECT_FALSE(parseAction(text)) << text;
}
