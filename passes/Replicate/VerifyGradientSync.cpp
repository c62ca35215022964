// Every partial sum is completed exactly once.
#include "passes/Replicate/Passes.h"
#include "passes/Replicate/VerifyShares.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace p3d::dist;
using namespace p3d::pipe;

namespace p3d {
#define GEN_PASS_DEF_VERIFYGRADIENTSYNCPASS
#include "passes/Replicate/Passes.h.inc"

namespace {
/// How often each buffer of a stage is summed over each axis ("tied" for its copies).
using Sums = llvm::StringMap<std::map<std::string, int>>;
/// For each tied group, in each of its stages, the buffers in the order of their sums.
using TiedOrders = std::map<int64_t, std::map<int64_t, SmallVector<StringRef>>>;

constexpr StringLiteral kTied = "tied";
// Of whatever moves buffers over an axis.
constexpr StringLiteral kBuffersAttr = "buffers", kAxisAttr = "axis";

/// C4: position of a sum of a gradient in the task.
int rankOf(StringRef axis) { return axis.starts_with("tp") ? 0 : axis == kTied ? 1 : 2; }

LogicalResult countSum(Operation *op, StringRef buffer, StringRef axis, Sums &sums) {
  auto &counts = sums[buffer];
  for (auto &[other, count] : counts)
    if (rankOf(other) > rankOf(axis))
      return op->emitOpError() << "sums '" << buffer << "' over " << axis << " after " << other
                               << "; the order is tp, tied, dp";
  ++counts[axis.str()];
  return success();
}

LogicalResult countSums(StageOp stage, Sums &sums, TiedOrders &orders) {
  auto result = stage.walk([&](Operation *op) -> WalkResult {
    if (!isa<SynchronizeOp, ReduceSharesOp, ReduceTiedOp>(op))
      return WalkResult::advance();
    if (op->getParentOfType<TaskOp>().getKind() != TaskKind::Synchronize)
      return op->emitOpError() << "stands outside of the synchronize task";
    if (auto tied = dyn_cast<ReduceTiedOp>(op)) {
      orders[tied.getGroup()][stage.getIndex()].push_back(tied.getBufferAttr().getAttr());
      return countSum(op, tied.getBuffer(), kTied, sums);
    }
    for (Attribute name : op->getAttrOfType<ArrayAttr>(kBuffersAttr))
      if (failed(countSum(op, cast<FlatSymbolRefAttr>(name).getValue(), op->getAttrOfType<StringAttr>(kAxisAttr), sums)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// C1, C2
LogicalResult verifyBuffer(BufferOp buffer, MeshAttr mesh, std::map<std::string, int> counts) {
  auto expect = [&](StringRef axis, bool partial) -> LogicalResult {
    int found = counts[axis.str()];
    if (found == int(partial))
      return success();
    return buffer.emitOpError() << "is summed " << found << " times over " << axis << ", expected " << int(partial);
  };
  auto sharding = buffer->getAttrOfType<ShardingAttr>(kShardingAttr);
  for (Axis axis : {Axis::TP, Axis::TPMajor, Axis::TPMinor, Axis::DP}) {
    bool isScattered = axis == Axis::DP && holdsShare(buffer); // C6
    bool isPartial = sharding && llvm::is_contained(sharding.getUnreduced(), axis) && mesh.getSize(axis) > 1;
    if (failed(expect(stringifyAxis(axis), isPartial && !isScattered)))
      return failure();
  }
  return expect(kTied, buffer.getKind() == BufferKind::Gradient && buffer->hasAttr(kTiedStagesAttr));
}

/// C3
LogicalResult verifyTiedOrders(ModuleOp module, const TiedOrders &orders) {
  for (auto &[group, byStage] : orders)
    for (auto &[stage, order] : byStage)
      if (order != byStage.begin()->second)
        return module.emitError() << "stages " << byStage.begin()->first << " and " << stage
                                  << " sum the copies of tied group " << group << " in different orders";
  return success();
}

struct VerifyGradientSyncPass : impl::VerifyGradientSyncPassBase<VerifyGradientSyncPass> {
  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
  }

  LogicalResult verify(ModuleOp module) {
    auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
    if (!mesh)
      return module.emitError() << "has no '" << kMeshAttr << "'";
    TiedOrders orders;
    for (StageOp stage : module.getOps<StageOp>()) {
      Sums sums;
      if (failed(countSums(stage, sums, orders)))
        return failure();
      for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
        if (buffer.getKind() == BufferKind::Gradient || buffer.getKind() == BufferKind::Result)
          if (failed(verifyBuffer(buffer, mesh, sums[buffer.getSymName()])))
            return failure();
      if (failed(verifyShares(stage)))
        return failure();
    }
    return verifyTiedOrders(module, orders);
  }
};
} // namespace
} // namespace p3d
