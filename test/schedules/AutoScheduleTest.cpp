// The search for an order: better than the published ones, as good as can be where that is known, within its limit.
#include "test/schedules/PaperRows.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace p3d;

/// Searched with this limit, checked.
static Schedule search(ScheduleSize size) {
  Schedule schedule = makeAuto(size);
  auto fault = ScheduleChecker::forChain(size).check(schedule, countSlots(schedule));
  EXPECT_FALSE(fault) << *fault;
  for (const StageOrder &order : schedule)
    EXPECT_LE(countLive(order), size.live);
  return schedule;
}

static double bubbleOf(const PaperRow &row, int64_t live) {
  ScheduleSize size{row.p, row.m, 1, live, ScheduleCosts::uniform(row.p, row.costs, row.comm)};
  return timeSchedule(search(size), chainTransfers(Placement::Loop, row.p), size.costs).bubbleSpan;
}

/// The last stage begins after p - 1 forwards, does all its work, at most `live` W of it after its last B, and that B
/// has to come back to stage 0, which does a W then.
static double leastBubble(const PaperRow &row, int64_t live) {
  auto [f, b, w] = row.costs;
  double work = row.m * (f + b + w), idle = (row.p - 1) * (f + b + 2 * row.comm) - (std::min(live, row.m) - 1) * w;
  return std::max(0.0, idle / (idle + work));
}

TEST(Auto, IsNoWorseThanH1WithItsMemory) {
  for (const PaperRow &row : kPaperRows) {
    double bubble = bubbleOf(row, row.p);
    EXPECT_LT(bubble, row.ofH1 + 5.1e-5) << "p=" << row.p << " m=" << row.m;
    EXPECT_GE(bubble, leastBubble(row, row.p));
  }
}

TEST(Auto, IsBetterThanH2AndTheBestWithItsMemory) {
  for (const PaperRow &row : kPaperRows) {
    double bubble = bubbleOf(row, 2 * row.p);
    EXPECT_LT(bubble, row.ofH2 - 5.1e-5) << "p=" << row.p << " m=" << row.m;
    EXPECT_NEAR(bubble, leastBubble(row, 2 * row.p), 1e-9) << "p=" << row.p << " m=" << row.m;
  }
}

// The published search counts less for a microbatch that waits for W alone. Counted in full, its bubble needs more
// alive.
TEST(Auto, ReachesThePublishedSearchWithMoreAlive) {
  for (const PaperRow &row : kPaperRows) {
    EXPECT_GT(leastBubble(row, 2 * row.p), row.ofSearch);
    EXPECT_LT(bubbleOf(row, 4 * row.p), row.ofSearch + 5.1e-5) << "p=" << row.p << " m=" << row.m;
  }
}

TEST(Auto, KeepsAnyLimit) {
  for (int64_t live = 1; live <= 10; ++live)
    search({4, 9, 1, live, ScheduleCosts::uniform(4, {1, 1, 1}, 0.1)});
}

// Unequal stages: the longest has the time of its own work, and the others fit around it.
TEST(Auto, HidesTheBubbleBehindTheSlowestStage) {
  ScheduleCosts costs = ScheduleCosts::uniform(4, {1, 1, 1}, 0.1);
  costs.tasks[2] = {{1.5, 1.5, 1.5}};
  ScheduleSize size{4, 12, 1, 8, costs};
  EXPECT_NEAR(timeSchedule(search(size), chainTransfers(Placement::Loop, 4), costs).stageSpan, 12 * 4.5, 1e-9);
}

TEST(Auto, IsTheSameEachTime) {
  ScheduleSize size{6, 20, 1, 9, ScheduleCosts::uniform(6, {1.1, 1.3, 0.8}, 0.05)};
  EXPECT_EQ(makeAuto(size), makeAuto(size));
}
