// The synchronize task of each stage: what is partial is summed, in as few messages as the bucket size allows.
#include "passes/Replicate/Buckets.h"
#include "passes/Replicate/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace p3d::dist;
using namespace p3d::pipe;

namespace p3d {
#define GEN_PASS_DEF_INSERTGRADIENTSYNCPASS
#include "passes/Replicate/Passes.h.inc"

namespace {
constexpr StringLiteral kGradientsOverTp = "each rank of tp has a copy of these parameters, and their gradient from its own part of the values";
constexpr StringLiteral kGradientsOverGroups = "neighbours on tp have a copy of the same part of these parameters, and their gradient from their own part of the values";
constexpr StringLiteral kGradientsOverDp = "gradients are sums over the batch, which dp cuts";
constexpr StringLiteral kSharesOverDp = "gradients are sums over the batch, which dp cuts; each rank of dp updates its share of the parameters";
constexpr StringLiteral kResultsOverTp = "the loss and the metrics are sums over a dimension that tp cuts";
constexpr StringLiteral kResultsOverDp = "the loss and the metrics are sums over the batch, which dp cuts";

using TiedGroups = llvm::MapVector<Attribute, int64_t>;

/// Numbers the sets of stages that share parameters.
TiedGroups numberTiedGroups(ModuleOp module) {
  TiedGroups groups;
  module.walk([&](BufferOp buffer) {
    if (Attribute stages = buffer->getAttr(kTiedStagesAttr))
      groups.insert({stages, groups.size()});
  });
  return groups;
}

/// Writes the synchronize task of one stage.
class Synchronizer {
public:
  Synchronizer(StageOp stage, MeshAttr mesh, const TiedGroups &groups, int64_t bucketBytes)
      : stage(stage), mesh(mesh), groups(groups), bucketBytes(bucketBytes), builder(stage.getContext()) {}

  LogicalResult run();

private:
  /// The buffers of `kind` that are partial over `axis` itself.
  FailureOr<SmallVector<BufferOp>> findPartial(BufferKind kind, Axis axis);
  LogicalResult synchronize(BufferKind kind, Axis axis, StringRef reason);
  void reduceTied();

  StageOp stage;
  MeshAttr mesh;
  const TiedGroups &groups;
  int64_t bucketBytes;
  OpBuilder builder;
};

LogicalResult Synchronizer::run() {
  sortByCompletion(stage);
  builder.setInsertionPointToEnd(&stage.getBody().front());
  if (TaskOp update = stage.getTask(TaskKind::Update))
    builder.setInsertionPoint(update);
  auto task = builder.create<TaskOp>(stage.getLoc(), TaskKind::Synchronize);
  builder.setInsertionPointToStart(&task.getBody().front());
  // Copies of a parameter are summed when each is complete within its stage, and only their sum crosses the replicas.
  if (failed(synchronize(BufferKind::Gradient, Axis::TP, kGradientsOverTp)))
    return failure();
  for (Axis part : {Axis::TPMajor, Axis::TPMinor})
    if (failed(synchronize(BufferKind::Gradient, part, kGradientsOverGroups)))
      return failure();
  reduceTied();
  if (failed(synchronize(BufferKind::Gradient, Axis::DP, kGradientsOverDp)) ||
      failed(synchronize(BufferKind::Result, Axis::TP, kResultsOverTp)) ||
      failed(synchronize(BufferKind::Result, Axis::DP, kResultsOverDp)))
    return failure();
  if (task.getBody().front().empty())
    task.erase();
  return success();
}

FailureOr<SmallVector<BufferOp>> Synchronizer::findPartial(BufferKind kind, Axis axis) {
  SmallVector<BufferOp> found;
  for (BufferOp buffer : stage.getBody().getOps<BufferOp>()) {
    if (buffer.getKind() != kind || !isPartial(buffer, axis))
      continue;
    if (auto sharding = buffer->getAttrOfType<ShardingAttr>(kShardingAttr); sharding.getReduce() != dist::ReduceKind::Sum)
      return buffer.emitOpError() << "is combined by " << stringifyReduceKind(sharding.getReduce()) << " over "
                                  << stringifyAxis(axis) << "; only sums are synchronized";
    // What each microbatch adds to a share is summed over dp before.
    if (axis != Axis::DP || !holdsShare(buffer))
      found.push_back(buffer);
  }
  return found;
}

LogicalResult Synchronizer::synchronize(BufferKind kind, Axis axis, StringRef reason) {
  auto buffers = findPartial(kind, axis);
  if (failed(buffers))
    return failure();
  if (mesh.getSize(axis) == 1)
    return success();
  auto sharesFrom = std::stable_partition(buffers->begin(), buffers->end(), [&](BufferOp buffer) { return axis != Axis::DP || !shareOf(buffer); });
  auto elementOf = [](BufferOp buffer) { return TypeAttr::get(buffer.getTensorType().getElementType()); };
  for (ArrayRef<BufferOp> bucket : makeBuckets({buffers->begin(), sharesFrom}, bucketBytes, elementOf))
    builder.create<SynchronizeOp>(stage.getLoc(), namesOf(bucket), stringifyAxis(axis), reason);
  auto rowOf = [](BufferOp buffer) { return shareOf(buffer).getRow(); };
  for (ArrayRef<BufferOp> row : makeBuckets({sharesFrom, buffers->end()}, std::numeric_limits<int64_t>::max(), rowOf))
    builder.create<ReduceSharesOp>(stage.getLoc(), namesOf(row), stringifyAxis(axis), kSharesOverDp);
  return success();
}

void Synchronizer::reduceTied() {
  SmallVector<BufferOp> tied;
  for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::Gradient && buffer->hasAttr(kTiedStagesAttr))
      tied.push_back(buffer);
  auto groupOf = [&](BufferOp buffer) { return groups.lookup(buffer->getAttr(kTiedStagesAttr)); };
  // One order in all stages, whatever the order of their buffers, so that the copies meet.
  llvm::sort(tied, [&](BufferOp a, BufferOp b) {
    return std::pair(groupOf(a), a.getSymName()) < std::pair(groupOf(b), b.getSymName());
  });
  for (BufferOp buffer : tied)
    builder.create<ReduceTiedOp>(stage.getLoc(), buffer.getSymName(),
                                 cast<DenseI64ArrayAttr>(buffer->getAttr(kTiedStagesAttr)), groupOf(buffer));
}

struct InsertGradientSyncPass : impl::InsertGradientSyncPassBase<InsertGradientSyncPass> {
  using InsertGradientSyncPassBase::InsertGradientSyncPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
    if (!mesh) {
      module.emitError() << "has no '" << kMeshAttr << "'";
      return signalPassFailure();
    }
    TiedGroups groups = numberTiedGroups(module);
    for (StageOp stage : module.getOps<StageOp>())
      if (failed(Synchronizer(stage, mesh, groups, bucketBytes).run()))
        return signalPassFailure();
  }
};
} // namespace
} // namespace p3d
