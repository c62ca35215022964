// What --explain says of a module of two stages.
#include "compiler/Explanation.h"
#include "passes/Support/CostModel.h"
#include "test/unit/compiler/TwoStages.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace p3d;

namespace {
class ExplanationTest : public TwoStages {
protected:
  void SetUp() override {
    TwoStages::SetUp();
    inputs.cluster.inNode = {1e9, 1e-6};
    inputs.cluster.betweenNodes = {1e8, 1e-5};
  }

  /// The only line of a kind, axis and phase.
  Line find(llvm::StringRef kind, llvm::StringRef axis, llvm::StringRef phase) {
    std::vector<Line> found;
    for (const Line &line : explain(*module, inputs).lines)
      if (line.kind == kind && line.axis == axis && line.phase == phase)
        found.push_back(line);
    EXPECT_EQ(found.size(), 1u);
    return found.front();
  }
};

TEST_F(ExplanationTest, ListsABlockOnceForAllStages) {
  Line line = find("all_reduce", "tp", "forward");
  EXPECT_EQ(line.block, "layer");
  EXPECT_EQ(line.reason.text, "test");
  EXPECT_EQ(line.reason.remedy, "tp=1");
  ASSERT_EQ(line.stages.size(), 2u);
  // 2 and 1 layers x 2 microbatches x 128 bytes x 2 (n-1)/n.
  EXPECT_EQ(line.stages[0].count, 4);
  EXPECT_EQ(line.stages[0].bytes, 512);
  EXPECT_EQ(line.stages[1].count, 2);
  EXPECT_EQ(line.stages[0].layers, (llvm::SmallVector<int64_t>{0, 1}));
  EXPECT_EQ(line.stages[1].layers, (llvm::SmallVector<int64_t>{2}));
  EXPECT_DOUBLE_EQ(line.stages[0].seconds, 4 * allReduceSeconds(128, 2, inputs.cluster.inNode));
}

TEST_F(ExplanationTest, TransfersCrossNodes) {
  Line forward = find("send", "pp", "forward"), backward = find("send", "pp", "backward");
  EXPECT_EQ(forward.reason.text, "the next stage needs what the last layer of this one makes");
  EXPECT_EQ(backward.reason.text, "the stage before needs a value outside of the blocks");
  EXPECT_EQ(forward.stages[0].to, 1);
  EXPECT_DOUBLE_EQ(forward.stages[0].seconds, 2 * transferSeconds(128, inputs.cluster.betweenNodes));
  inputs.cluster.devicesPerNode = 8;
  forward = find("send", "pp", "forward");
  EXPECT_DOUBLE_EQ(forward.stages[0].seconds, 2 * transferSeconds(128, inputs.cluster.inNode));
}

TEST_F(ExplanationTest, UpdatesNameTheirParameters) {
  Line replicas = find("all_reduce", "dp", "update"), tied = find("all_reduce", "tied", "update");
  EXPECT_EQ(replicas.reason.parameters, (llvm::SmallVector<std::string>{"params.w"}));
  EXPECT_EQ(replicas.reason.remedy, "dp=1");
  EXPECT_EQ(tied.reason.text, "params.w is used in stages 0 and 1, each of which has a copy: their gradients are summed");
  EXPECT_EQ(tied.stages.size(), 2u);
  EXPECT_EQ(find("all_reduce", "norm", "update").reason.remedy, "tp=1 and pp=1");
}

TEST_F(ExplanationTest, UnevenCutsOfAnEditedModule) {
  auto uneven = mlir::parseAttribute(
      R"([{dimension = "the heads", units = 6, rows = 4, parameters = ["params.w", 5]}, {units = 6}, {dimension = "x", units = 6, rows = 0, parameters = []}, 7])",
      &context);
  ASSERT_TRUE(uneven);
  (*module)->setAttr("dist.uneven", uneven);
  Explanation explanation = explain(*module, inputs);
  ASSERT_EQ(explanation.paddings.size(), 1u);
  const Padding &padding = explanation.paddings.front();
  EXPECT_EQ(padding.padded(), 8);
  EXPECT_EQ(padding.reason.text, "the heads: 6 over tp=2 are 4 a rank, padded to 8: 33.33% more work and memory in what it cuts");
  EXPECT_EQ(padding.reason.parameters, (llvm::SmallVector<std::string>{"params.w"}));
}
} // namespace
