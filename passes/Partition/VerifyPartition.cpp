// The invariant of the partition level; see Passes.td.
#include "passes/Partition/Passes.h"

namespace p3d::partition {
#define GEN_PASS_DEF_VERIFYPARTITION
#include "passes/Partition/Passes.h.inc"
} // namespace p3d::partition

using namespace mlir;
using namespace p3d;

namespace {
struct VerifyPartitionPass : partition::impl::VerifyPartitionBase<VerifyPartitionPass> {
  void runOnOperation() override {
    auto result = getOperation().walk([](Operation *op) -> WalkResult {
      if (isa<dist::ReshardOp>(op))
        return op->emitOpError() << "is left after partitioning";
      if (op->hasAttr(dist::kShardingsAttr))
        return op->emitOpError() << "still has the shardings of its global results";
      if (auto program = dyn_cast<graph::ProgramOp>(op))
        return checkResults(program);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  static WalkResult checkResults(graph::ProgramOp program) {
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      auto name = program.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
      auto sharding = program.getResultAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr);
      bool isGradient = name && name.getValue().starts_with("grads.");
      if (sharding && sharding.isUnreduced(dist::Axis::TP) && !isGradient)
        return program.emitOpError() << "result " << i << " is partial over tp and no gradient";
    }
    return WalkResult::advance();
  }
};
} // namespace
