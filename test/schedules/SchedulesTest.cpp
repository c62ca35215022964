// Every schedule of the table passes the checker on every size; 1F1B has the published order.
#include "passes/Schedule/ScheduleChecker.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace p3d;

static std::string print(const StageOrder &order) { return llvm::join(llvm::map_range(order, toString), " "); }

static std::vector<int64_t> countSlots(const Schedule &schedule) {
  std::vector<int64_t> slots;
  for (const StageOrder &order : schedule)
    slots.push_back(countLive(order));
  return slots;
}

TEST(Schedules, AllPassTheCheckerOnAllSizes) {
  for (const NamedSchedule &entry : getSchedules())
    for (int64_t stages = 1; stages <= 8; ++stages)
      for (int64_t microbatches = 1; microbatches <= 16; ++microbatches) {
        Schedule schedule = entry.make(stages, microbatches);
        auto fault = ScheduleChecker::forChain(stages, microbatches).check(schedule, countSlots(schedule));
        EXPECT_FALSE(fault) << entry.name.str() << " p=" << stages << " m=" << microbatches << ": " << *fault;
      }
}

TEST(Schedules, OneForwardOneBackwardHasThePublishedOrder) {
  Schedule schedule = make1F1B(4, 8);
  EXPECT_EQ(print(schedule[0]), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  EXPECT_EQ(print(schedule[3]), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
  EXPECT_EQ(countSlots(schedule), (std::vector<int64_t>{4, 3, 2, 1}));
}

TEST(Schedules, FewMicrobatchesKeepNoMoreAliveThanThereAre) {
  EXPECT_EQ(print(make1F1B(4, 2)[0]), "F0 F1 B0 B1");
  EXPECT_EQ(countSlots(make1F1B(4, 2)), (std::vector<int64_t>{2, 2, 2, 1}));
}

TEST(Schedules, GPipeKeepsEveryMicrobatchAlive) {
  EXPECT_EQ(print(makeGPipe(2, 3)[1]), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(countSlots(makeGPipe(2, 3)), (std::vector<int64_t>{3, 3}));
}

TEST(Schedules, AreFoundByName) {
  for (const NamedSchedule &entry : getSchedules())
    EXPECT_EQ(findSchedule(entry.name)->make, entry.make);
  EXPECT_EQ(findSchedule("2f2b"), nullptr);
  EXPECT_EQ(getScheduleNames(), "1f1b, gpipe");
}

TEST(Schedules, ActionsReadBack) {
  for (Action action : {Action{Action::Forward, 0}, Action{Action::Backward, 12}, Action{Action::WeightGradient, 3}})
    EXPECT_EQ(parseAction(toString(action)), action);
  for (const char *text : {"", "F", "X1", "F-1", "F1x", "P"})
    EXPECT_FALSE(parseAction(text)) << text;
}
