// Every share is scattered and gathered exactly once.
#include "passes/Replicate/VerifyShares.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Replicate/Buckets.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;

namespace {
/// Through changes of shape and of element type.
Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<graph::ReshapeOp, graph::ConvertOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// C6: `op` adds what one scatter over dp makes of a value that none has made.
LogicalResult verifyAdded(AccumulateOp op, BufferOp gradient) {
  auto isOverDp = [](auto scatter) { return scatter && scatter.getAxis() == dist::Axis::DP; };
  auto reduce = op.getValue().getDefiningOp<dist::ReduceScatterOp>();
  auto slice = op.getValue().getDefiningOp<dist::ShardSliceOp>();
  bool partial = isPartial(gradient, dist::Axis::DP);
  if (!(partial ? isOverDp(reduce) && reduce.getKind() == dist::ReduceKind::Sum : isOverDp(slice)))
    return op.emitOpError() << "adds to '" << op.getBuffer() << "', of which a rank of dp holds a share, what is no " << (partial ? "dist.reduce_scatter sum" : "dist.shard_slice")
                            << " over dp; each rank would add something else than its share";
  Operation *before = sourceOf(partial ? reduce.getOperand() : slice.getOperand()).getDefiningOp();
  auto again = dyn_cast_or_null<dist::ReduceScatterOp>(before);
  auto summed = dyn_cast_or_null<dist::AllReduceOp>(before);
  if (isOverDp(again) || (partial && isOverDp(summed)))
    return op.emitOpError() << "adds to '" << op.getBuffer() << "' what is summed over dp twice";
  return success();
}

/// C7: every use of a share gathers it, and no use of what is gathered does so again.
LogicalResult verifyRead(ReadOp read) {
  for (Operation *user : read->getUsers()) {
    auto gather = dyn_cast<dist::AllGatherOp>(user);
    if (!gather || gather.getAxis() != dist::Axis::DP)
      return user->emitOpError() << "uses '" << read.getBuffer() << "', of which a rank of dp holds a share; it has to be gathered over dp first";
    for (Operation *next : gather->getUsers())
      if (isa<dist::AllGatherOp>(next))
        return next->emitOpError() << "gathers '" << read.getBuffer() << "', which is whole, again";
  }
  return success();
}

class ShareVerifier {
public:
  explicit ShareVerifier(StageOp stage) : stage(stage), buffers(stage) {}

  LogicalResult run() {
    auto result = stage.walk([&](Operation *op) { return failed(visit(op)) ? WalkResult::interrupt() : WalkResult::advance(); });
    if (result.wasInterrupted())
      return failure();
    for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
      if (updated.contains(buffer.getSymName()) && shareOf(buffer))
        if (int64_t expected = holdsShare(buffer) ? 0 : 1; gathers[buffer.getSymName()] != expected)
          return buffer.emitOpError() << "is gathered " << gathers[buffer.getSymName()] << " times over dp after its update in shares, expected " << expected;
    return success();
  }

private:
  LogicalResult visit(Operation *op) {
    if (auto add = dyn_cast<AccumulateOp>(op); add && holdsShare(buffers.lookup<BufferOp>(add.getBuffer())))
      return verifyAdded(add, buffers.lookup<BufferOp>(add.getBuffer()));
    if (auto read = dyn_cast<ReadOp>(op); read && holdsShare(buffers.lookup<BufferOp>(read.getBuffer())))
      return verifyRead(read);
    if (auto update = dyn_cast<UpdateOp>(op))
      return visitUpdate(update);
    if (auto gather = dyn_cast<GatherSharesOp>(op))
      return visitGather(gather);
    return success();
  }

  /// C5
  LogicalResult visitUpdate(UpdateOp update) {
    ShareAttr gradient = shareOf(buffers.lookup<BufferOp>(update.getGradient())), parameter = shareOf(buffers.lookup<BufferOp>(update.getParameter()));
    updated.insert(update.getParameter());
    if (!gradient && !parameter)
      return success();
    if (gradient && parameter && gradient.getChunk() == parameter.getChunk() && gradient.getStart() == parameter.getStart())
      return success();
    auto error = update.emitOpError() << "updates ";
    auto describe = [&](ShareAttr share) { share ? error << share : error << "all"; };
    describe(parameter);
    error << " of '" << update.getParameter() << "' by ";
    describe(gradient);
    return error << " of its gradient; expected the same elements of both";
  }

  /// C5
  LogicalResult visitGather(GatherSharesOp gather) {
    if (gather->getParentOfType<TaskOp>().getKind() != TaskKind::Update || gather.getAxis() != dist::stringifyAxis(dist::Axis::DP))
      return gather.emitOpError() << "stands outside of the update task, or is not over dp";
    for (auto name : gather.getBuffers().getAsRange<FlatSymbolRefAttr>()) {
      if (!updated.contains(name.getValue()))
        return gather.emitOpError() << "gathers '" << name.getValue() << "' before its update";
      ++gathers[name.getValue()];
    }
    return success();
  }

  StageOp stage;
  SymbolTable buffers; ///< of the stage
  llvm::StringSet<> updated;
  llvm::StringMap<int64_t> gathers;
};
} // namespace

LogicalResult p3d::verifyShares(StageOp stage) { return ShareVerifier(stage).run(); }
