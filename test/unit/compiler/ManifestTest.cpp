// The manifest of a module of two stages: counts and ring volumes, groups, schedule.
#include "compiler/Cube.h"
#include "test/unit/compiler/TwoStages.h"

using namespace p3d;

using Manifest = TwoStages;

TEST_F(Manifest, CountsCollectivesAndTransfers) {
  llvm::json::Object manifest = makeManifest(*module, inputs);
  // 2 layers x 2 microbatches x 128 bytes x 2 (n-1)/n.
  EXPECT_EQ(print((*manifest.getArray("collectives"))[0]),
            R"({"axis":"tp","bytes":512,"count":4,"dtype":"f32","kind":"all_reduce","phase":"forward","stage":0})");
  std::string all = print(std::move(*manifest.get("collectives")));
  EXPECT_NE(all.find(R"("axis":"dp","bytes":256,"count":1)"), std::string::npos) << all;
  EXPECT_NE(all.find(R"("axis":"tied","bytes":256,"count":1)"), std::string::npos) << all;
  EXPECT_NE(all.find(R"("axis":"norm","bytes":6,"count":1)"), std::string::npos) << all;
  EXPECT_EQ(print(*manifest.get("transfers")),
            R"([{"bytes":256,"count":2,"from":0,"to":1},{"bytes":256,"count":2,"from":1,"to":0}])");
}

TEST_F(Manifest, DescribesTheModel) {
  llvm::json::Object manifest = makeManifest(*module, inputs);
  EXPECT_EQ(print(*manifest.get("params")),
            R"({"names":{"params.w":{"dtype":"f32","shape":[16,8],"sharding":["tp",null],"stages":[0,1]}},"total":128})");
  EXPECT_EQ(manifest.getInteger("global_batch"), 16);
  EXPECT_EQ(manifest.getInteger("tokens_per_step"), 48);
  // 3 layers x 2 microbatches x 4 ranks of tp and dp x 2 * 4 * 8 * 8.
  EXPECT_EQ(manifest.getInteger("flops_per_step"), 3 * 2 * 4 * 512);
}

TEST_F(Manifest, ShowsGroupsRanksAndSchedule) {
  inputs.memory.assign(2, {1, 2, 3, 4, 5, 15});
  llvm::json::Object manifest = makeManifest(*module, inputs);
  EXPECT_EQ(print(*manifest.getObject("groups")->get("tied")), "[[0,4],[1,5],[2,6],[3,7]]");
  EXPECT_EQ(print((*manifest.getArray("ranks"))[6]),
            R"({"device":2,"dp":1,"layers":[2,2],"memory":{"activations":4,"grads":2,"least":0,"optimizer":3,"params":1,"total":15,"workspace":5},"node":1,"pp":1,"program":"stage1","rank":6,"tp":0})");
  EXPECT_EQ(print(*manifest.getObject("schedule")->get("order")), R"([["F0","F1","B0","B1"],["F0","B0","F1","B1"]])");
  EXPECT_EQ(print(*manifest.getObject("schedule")->get("live")), "[2,1]");
}

TEST_F(Manifest, PlanHoldsTheDecisions) {
  llvm::json::Object plan = makePlan(*module, inputs);
  EXPECT_EQ(print(*plan.get("stages")), "[2,1]");
  EXPECT_EQ(print(*plan.get("sharding")), R"({"params.w":["tp",null]})");
}

TEST_F(Manifest, PrintsTheCube) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printCube(makeCube(*module, inputs.rankOrder, inputs.cluster), os);
  EXPECT_EQ(text, "8 ranks = 2 tp x 2 pp x 2 dp, 4 a node\n"
                  "  node 0   device 0-1    rank 0-1      tp 0-1    dp 0   pp 0   layers 0-1\n"
                  "  node 0   device 2-3    rank 2-3      tp 0-1    dp 1   pp 0   layers 0-1\n"
                  "  node 1   device 0-1    rank 4-5      tp 0-1    dp 0   pp 1   layer 2\n"
                  "  node 1   device 2-3    rank 6-7      tp 0-1    dp 1   pp 1   layer 2\n");
}

// A tp group on two nodes has a line for each.
TEST_F(Manifest, PrintsTheCubeOfSmallNodes) {
  inputs.cluster.devicesPerNode = 3;
  std::string text;
  llvm::raw_string_ostream os(text);
  printCube(makeCube(*module, inputs.rankOrder, inputs.cluster), os);
  EXPECT_EQ(text, "8 ranks = 2 tp x 2 pp x 2 dp, 3 a node\n"
                  "  node 0   device 0-1    rank 0-1      tp 0-1    dp 0   pp 0   layers 0-1\n"
                  "  node 0   device 2      rank 2        tp 0      dp 1   pp 0   layers 0-1\n"
                  "  node 1   device 0      rank 3        tp 1      dp 1   pp 0   layers 0-1\n"
                  "  node 1   device 1-2    rank 4-5      tp 0-1    dp 0   pp 1   layer 2\n"
                  "  node 2   device 0-1    rank 6-7      tp 0-1    dp 1   pp 1   layer 2\n");
}
