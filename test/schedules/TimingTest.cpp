// Makespans and bubbles that are published or follow from a formula.
#include "passes/Schedule/ScheduleTiming.h"
#include <gtest/gtest.h>

using namespace p3d;

static ScheduleTiming time(const Schedule &schedule, StageCosts costs, double communication) {
  std::vector<Transfer> transfers;
  for (int64_t i = 0; i + 1 < int64_t(schedule.size()); ++i) {
    transfers.push_back({i, i + 1, Action::Forward});
    transfers.push_back({i + 1, i, Action::Backward});
  }
  return timeSchedule(schedule, transfers, std::vector<StageCosts>(schedule.size(), costs), communication);
}

TEST(Timing, UnitCosts) {
  EXPECT_EQ(time(make1F1B(4, 8), {1, 1, 1}, 0).makespan, 33);
  EXPECT_EQ(time(make1F1B(4, 16), {1, 1, 1}, 0).makespan, 57);
}

TEST(Timing, BubbleFormula) {
  for (auto make : {make1F1B, makeGPipe})
    for (int64_t p = 1; p <= 8; ++p)
      for (int64_t m = p; m <= 16; ++m)
        EXPECT_NEAR(time(make(p, m), {1, 1, 1}, 0).bubble, double(p - 1) / (m + p - 1), 1e-12) << p << " " << m;
}

// arXiv 2401.10241: the times of table 9 give the 1F1B column of table 5.
TEST(Timing, ZeroBubblePaper) {
  struct Row {
    int64_t p, m;
    double f, b, w, comm, rate;
  };
  for (Row row : {Row{8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431}, Row{8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985},
                  Row{8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240}, Row{16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552},
                  Row{16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082},
                  Row{16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251}})
    EXPECT_NEAR(time(make1F1B(row.p, row.m), {row.f, row.b, row.w}, row.comm).bubbleSpan, row.rate, 1e-4)
        << "p=" << row.p << " m=" << row.m;
}

TEST(Timing, TheSlowestStageSetsThePace) {
  std::vector<Transfer> transfers{{0, 1, Action::Forward}, {1, 0, Action::Backward}};
  ScheduleTiming timing = timeSchedule(make1F1B(2, 4), transfers, {{1, 1, 1}, {2, 2, 2}}, 0);
  EXPECT_EQ(timing.makespan, 1 + 4 * 6 + 2);
  EXPECT_EQ(timing.spans[1].front().start, 1);
}
