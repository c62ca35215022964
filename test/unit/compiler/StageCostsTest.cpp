// The times of tasks and of the step that they make.
#include "compiler/StepSimulation.h"
#include "passes/Schedule/Schedules.h"
#include "test/unit/compiler/TwoStages.h"

using namespace p3d;

using StageCostsTest = TwoStages;

// Peaks of 1e9 a second: a layer multiplies 2 * 4 * 8 * 8 = 512 and moves (32 + 64 + 32) * 4 bytes, and its all-reduce
// of 128 bytes over two ranks takes 128 ns and two hops, as ring and as tree.
TEST_F(StageCostsTest, ARooflineAndTheMessages) {
  StepCosts costs = stageCosts(*module, inputs.rankOrder, inputs.cluster);
  double layer = 512e-9, reduce = 128e-9 + 2e-6;
  EXPECT_DOUBLE_EQ(costs.stages[0].chunks[0].forward, 2 * (layer + reduce));
  EXPECT_DOUBLE_EQ(costs.stages[1].chunks[0].forward, layer + reduce);
  EXPECT_DOUBLE_EQ(costs.transfer, 128e-9 + 1e-6);
  // 64 elements: the gradient, twice, two states and the parameter, read and written.
  EXPECT_DOUBLE_EQ(costs.stages[0].update, 64 * (8 + 16 + 8) * 1e-9);
  EXPECT_DOUBLE_EQ(costs.stages[1].update, 0);
  // The accumulator is cleared.
  EXPECT_DOUBLE_EQ(costs.stages[1].prologue, 64 * 4 * 1e-9);
  EXPECT_GT(costs.stages[0].synchronize, costs.stages[1].synchronize);
}

TEST_F(StageCostsTest, EfficiencyAndLaunchesAddUp) {
  inputs.cluster.computeEfficiency = 0.25;
  inputs.cluster.launchSeconds = 1e-3;
  StepCosts costs = stageCosts(*module, inputs.rankOrder, inputs.cluster);
  EXPECT_DOUBLE_EQ(costs.stages[1].chunks[0].forward, 1e-3 + 4 * 512e-9 + 128e-9 + 2e-6);
}

// A group of tp that lies on two nodes waits for the link between them.
TEST_F(StageCostsTest, MessagesBetweenNodes) {
  inputs.cluster.betweenNodes = {1e8, 1e-6};
  double inNode = stageCosts(*module, inputs.rankOrder, inputs.cluster).stages[1].chunks[0].forward;
  inputs.cluster.nodes = 8;
  inputs.cluster.devicesPerNode = 1;
  double between = stageCosts(*module, inputs.rankOrder, inputs.cluster).stages[1].chunks[0].forward;
  EXPECT_NEAR(between - inNode, 9 * 128e-9, 1e-15);
}

namespace {
/// A step of `schedule` on `stages` stages of one rank, 1 a task.
StepTiming simulate(llvm::StringRef name, int64_t stages, const Cluster &cluster, double transfer = 0) {
  const NamedSchedule *schedule = findSchedule(name);
  StepCosts costs;
  costs.stages.assign(stages, {{TaskCosts{1, 1, 1}}, 0.5, 0.25, 0.125});
  costs.transfer = transfer;
  costs.norm = 0.0625;
  return simulateStep(schedule->make({stages, 2 * stages}), chainTransfers(schedule->placement, stages), costs,
                      {{1, stages, 1}, RankOrder::TpDpPp}, cluster);
}
} // namespace

// Where nothing is shared, the schedule takes what timeSchedule says, and prologue, synchronization and update besides.
TEST(StepSimulation, AgreesWithTheTimingOfSchedules) {
  Cluster cluster;
  cluster.devicesPerNode = 4;
  for (llvm::StringRef name : {"gpipe", "1f1b", "zb-h1"})
    for (double transfer : {0.0, 0.3}) {
      const NamedSchedule *schedule = findSchedule(name);
      ScheduleTiming expected = timeSchedule(schedule->make({4, 8}), chainTransfers(schedule->placement, 4),
                                             ScheduleCosts::uniform(4, {1, 1, 1}, transfer));
      StepTiming timing = simulate(name, 4, cluster, transfer);
      EXPECT_NEAR(timing.schedule.makespan, expected.makespan, 1e-9) << name.str();
      EXPECT_NEAR(timing.schedule.bubbleSpan, expected.bubbleSpan, 1e-9) << name.str();
      EXPECT_NEAR(timing.seconds, 0.5 + expected.makespan + 0.25 + 0.0625 + 0.125, 1e-9) << name.str();
    }
}

// Four ranks on one core do all work one after the other, so no stage's waiting costs anything.
TEST(StepSimulation, SharesTheCores) {
  Cluster cluster;
  cluster.devicesPerNode = 4;
  cluster.cores = 1;
  StepTiming timing = simulate("1f1b", 4, cluster);
  EXPECT_NEAR(timing.seconds, 4 * (0.5 + 8 * 3 + 0.25 + 0.125) + 0.0625, 1e-9);
  // As many cores as ranks are as good as devices of their own.
  cluster.cores = 4;
  EXPECT_NEAR(simulate("1f1b", 4, cluster).schedule.makespan, 33, 1e-9);
  // On a node of two ranks, each has half a core's speed only while the other works.
  cluster.cores = 2;
  double shared = simulate("1f1b", 4, cluster).seconds;
  EXPECT_GT(shared, 4 * (0.5 + 8 * 3 + 0.25 + 0.125) / 2);
  EXPECT_LT(shared, 4 * (0.5 + 8 * 3 + 0.25 + 0.125));
}
