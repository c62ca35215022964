// Makespans and bubbles that are published or follow from a formula.
#include "test/schedules/PaperRows.h"
#include <gtest/gtest.h>

using namespace p3d;

static ScheduleTiming time(const char *name, ScheduleSize size, TaskCosts costs, double communication = 0) {
  const NamedSchedule *entry = findSchedule(name);
  return timeSchedule(entry->make(size), chainTransfers(entry->placement, size.stages, size.chunks),
                      ScheduleCosts::uniform(size.stages, costs, communication, size.chunks));
}

TEST(Timing, UnitCosts) {
  struct Row {
    const char *name;
    int64_t chunks;
    double of8, of16;
  };
  for (Row row : {Row{"1f1b", 1, 33, 57}, Row{"zb-h1", 1, 27, 51}, Row{"zb-h2", 1, 24, 48},
                  Row{"interleaved", 2, 28.5, 52.5}, Row{"zb-v", 2, 24, 48}}) {
    EXPECT_EQ(time(row.name, {4, 8, row.chunks}, {1, 1, 1}).stageSpan, row.of8) << row.name;
    EXPECT_EQ(time(row.name, {4, 16, row.chunks}, {1, 1, 1}).stageSpan, row.of16) << row.name;
  }
  // Its last stage starts late.
  EXPECT_EQ(time("zb-h2", {4, 8}, {1, 1, 1}).makespan, 27);
  EXPECT_EQ(time("zb-h2", {4, 16}, {1, 1, 1}).makespan, 51);
}

TEST(Timing, BubbleFormula) {
  for (const char *name : {"1f1b", "gpipe"})
    for (int64_t p = 1; p <= 16; ++p)
      for (int64_t m = 1; m <= 64; ++m)
        EXPECT_NEAR(time(name, {p, m}, {1, 1, 1}).bubble, double(p - 1) / (m + p - 1), 1e-12) << p << " " << m;
}

TEST(Timing, ZeroBubblePaper) {
  for (const PaperRow &row : kPaperRows) {
    auto rate = [&](const char *name) { return time(name, {row.p, row.m}, row.costs, row.comm).bubbleSpan; };
    EXPECT_NEAR(rate("1f1b"), row.of1F1B, 5.1e-5) << "p=" << row.p << " m=" << row.m;
    EXPECT_NEAR(rate("zb-h1"), row.ofH1, 5.1e-5) << "p=" << row.p << " m=" << row.m;
    EXPECT_NEAR(rate("zb-h2"), row.ofH2, 5.1e-5) << "p=" << row.p << " m=" << row.m;
  }
}

TEST(Timing, TheSlowestStageSetsThePace) {
  ScheduleTiming timing =
      timeSchedule(make1F1B({2, 4}), chainTransfers(Placement::Loop, 2), {{{{1, 1, 1}}, {{2, 2, 2}}}, 0});
  EXPECT_EQ(timing.makespan, 1 + 4 * 6 + 2);
  EXPECT_EQ(timing.spans[1].front().start, 1);
}
