// The checker names the first fault of a broken schedule.
#include "passes/Schedule/ScheduleChecker.h"
#include "llvm/ADT/SmallVector.h"
#include <gtest/gtest.h>

using namespace p3d;

static Schedule parse(std::vector<const char *> stages) {
  Schedule schedule;
  for (llvm::StringRef text : stages) {
    StageOrder &order = schedule.emplace_back();
    llvm::SmallVector<llvm::StringRef> words;
    text.split(words, ' ');
    for (llvm::StringRef word : words)
      order.push_back(*parseAction(word));
  }
  return schedule;
}

static std::string faultOf(std::vector<const char *> stages, int64_t microbatches, Slots slots) {
  return ScheduleChecker::forChain({int64_t(stages.size()), microbatches}).check(parse(stages), slots).value_or("");
}

TEST(Checker, MissingAction) { EXPECT_EQ(faultOf({"F0 F1 B0"}, 2, {{2}}), "stage 0: B1 is missing after F1"); }

TEST(Checker, MissingWeightGradient) {
  EXPECT_EQ(faultOf({"F0 B0 W0", "F0 B0"}, 1, {{1}, {1}}), "stage 1: W0 is missing after B0");
}

TEST(Checker, RepeatedAction) {
  EXPECT_EQ(faultOf({"F0 B0 B0"}, 1, {{1}}), "stage 0: B0 comes twice, the second time after B0");
}

TEST(Checker, BackwardBeforeForward) { EXPECT_EQ(faultOf({"B0 F0"}, 1, {{1}}), "stage 0: B0 comes before F0"); }

TEST(Checker, MicrobatchBeyondTheEnd) {
  EXPECT_EQ(faultOf({"F0 B0 F1 B1"}, 1, {{1}}), "stage 0: F1 is beyond the 1 microbatches");
}

TEST(Checker, WrongNumberOfStages) {
  EXPECT_EQ(ScheduleChecker::forChain({2, 1}).check(parse({"F0 B0"}), {{1}}), "the schedule has 1 stages, expected 2");
}

TEST(Checker, TooFewSlots) {
  EXPECT_EQ(faultOf({"F0 F1 B0 B1"}, 2, {{1}}),
            "stage 0: F1 takes slot 0 of 1 while microbatch 0 is alive in it until B0");
}

TEST(Checker, SlotsCountByRemainder) {
  // Two are alive at once, but microbatches 0 and 2 meet in slot 0.
  EXPECT_EQ(faultOf({"F0 F1 B1 F2 B0 B2"}, 3, {{2}}),
            "stage 0: F2 takes slot 0 of 2 while microbatch 0 is alive in it until B0");
}

TEST(Checker, Deadlock) {
  EXPECT_EQ(faultOf({"F0 B0 F1 B1", "F0 F1 B0 B1"}, 2, {{1}, {2}}),
            "the schedule deadlocks: stage 0 at B0 waits for B0 of stage 1, stage 1 at F1 waits for F1 of stage 0");
}

TEST(Checker, DeadlockOverASkip) {
  // Without the transfer from 2 to 0 the order is fine.
  Schedule schedule = parse({"F0 B0", "F0 B0", "F0 B0"});
  Slots slots{{1}, {1}, {1}};
  EXPECT_FALSE(ScheduleChecker::forChain({3, 1}).check(schedule, slots));
  ScheduleChecker backwards(3, 1, {{2, 0, Action::Forward}, {0, 1, Action::Forward}, {1, 2, Action::Forward}});
  EXPECT_EQ(backwards.check(schedule, slots),
            "the schedule deadlocks: stage 0 at F0 waits for F0 of stage 2, stage 1 at F0 waits for F0 of stage 0, "
            "stage 2 at F0 waits for F0 of stage 1");
}

TEST(Checker, ASlotWaitsForItsReceiver) {
  // Stage 0 receives the gradient of microbatch 0 only after F1 of stage 1, which may not take the slot that holds it.
  Schedule schedule = parse({"F0 F1 B0 B1", "F0 B0 F1 B1"});
  EXPECT_FALSE(ScheduleChecker::forChain({2, 2}).check(schedule, {{2}, {1}}));
  ScheduleChecker late(2, 2, {{0, 1, Action::Forward}, {1, 0, Action::Backward}, {1, 0, Action::Forward}});
  EXPECT_TRUE(late.check(schedule, {{2}, {1}}));
}

TEST(Checker, ChunkBeyondTheEnd) {
  EXPECT_EQ(faultOf({"F0 F0.1 B0.1 B0"}, 1, {{1}}), "stage 0: F0.1 is beyond the 1 chunks");
}

TEST(Checker, ChunksOfOneStageFollowEachOther) {
  ScheduleChecker checker = ScheduleChecker::forChain({1, 1, 2});
  EXPECT_FALSE(checker.check(parse({"F0 F0.1 B0.1 B0"}), {{1, 1}}));
  EXPECT_EQ(checker.check(parse({"F0.1 F0 B0.1 B0"}), {{1, 1}}),
            "the schedule deadlocks: stage 0 at F0.1 waits for F0 of stage 0");
}

TEST(Checker, SendsThatMeetTheirReceivesAreInOrder) {
  // Messages that wait in a mailbox may be taken in any order, sends that wait for their receive may not.
  Schedule schedule = parse({"F0 F1 B0 B1", "F1 F0 B0 B1"});
  Slots slots = countSlots(schedule);
  std::vector<Transfer> transfers = chainTransfers(Placement::Loop, 2);
  EXPECT_FALSE(findDeadlock(schedule, transfers, slots, Sending::Posted));
  EXPECT_EQ(findDeadlock(schedule, transfers, slots, Sending::Meeting),
            "the schedule deadlocks: stage 0 at B0 waits for B0 of stage 1, stage 1 at F1 waits for F1 of stage 0");
}
