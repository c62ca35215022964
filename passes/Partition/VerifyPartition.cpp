// The invariant of the partition level; see Passes.td.
#include "passes/Partition/Passes.h"
#include "passes/Partition/Proof/ProgramTyping.h"

namespace p3d::partition {
#define GEN_PASS_DEF_VERIFYPARTITION
#include "passes/Partition/Passes.h.inc"
} // namespace p3d::partition

using namespace mlir;
using namespace p3d;

namespace {
struct VerifyPartitionPass : partition::impl::VerifyPartitionBase<VerifyPartitionPass> {
  void runOnOperation() override {
    auto result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (isa<dist::ReshardOp>(op))
        return op->emitOpError() << "is left after partitioning";
      if (op->hasAttr(dist::kShardingsAttr))
        return op->emitOpError() << "still has the shardings of its global results";
      if (auto program = dyn_cast<graph::ProgramOp>(op))
        return checkResults(program);
      for (NamedAttribute attribute : op->getAttrs())
        if (auto shard = dyn_cast<dist::ShardAttr>(attribute.getValue()))
          return checkShard(op, shard);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (auto program : getOperation().getOps<graph::ProgramOp>())
      if (failed(prove(program)))
        return signalPassFailure();
  }

  LogicalResult prove(graph::ProgramOp program) {
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!mesh)
      return program.emitOpError() << "stands in a module without dist.mesh, so that nothing is known of its ranks; run p3d-partition first";
    return partition::proof::proveProgram(program, mesh);
  }

  /// The numbers of a dimension's shards: what is masked or counted from the first element depends on them.
  WalkResult checkShard(Operation *op, dist::ShardAttr shard) {
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    int64_t parts = 1;
    for (dist::Axis axis : shard.getAxes())
      parts *= mesh ? mesh.getSize(axis) : 1;
    bool isSound = shard.getChunk() > 0 && shard.getFull() > 0 && (!mesh || parts * shard.getChunk() >= shard.getFull());
    if (isSound)
      return WalkResult::advance();
    return op->emitOpError() << "is about " << parts << " shards of " << shard.getChunk() << " of a dimension of " << shard.getFull() << ", which do not cover it";
  }

  static WalkResult checkResults(graph::ProgramOp program) {
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      auto name = program.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
      auto sharding = program.getResultAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr);
      bool isGradient = name && name.getValue().starts_with("grads.");
      if (sharding && (sharding.isUnreduced(dist::Axis::TPMajor) || sharding.isUnreduced(dist::Axis::TPMinor)) && !isGradient)
        return program.emitOpError() << "result " << i << " is partial over tp and no gradient";
    }
    return WalkResult::advance();
  }
};
} // namespace
