// The synchronize task of each stage: what is partial is summed, in as few messages as the bucket size allows.
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

int64_t countBytes(BufferOp buffer) {
  RankedTensorType type = buffer.getTensorType();
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
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

/// For each buffer the last operation of the backward tasks that adds to it: behind it the buffer is complete.
static llvm::StringMap<int64_t> completionOrder(StageOp stage) {
  llvm::StringMap<int64_t> order;
  int64_t number = 0;
  stage.walk([&](AccumulateOp op) { order[op.getBuffer()] = number++; });
  return order;
}

/// What is complete first is reduced first, beside the rest of the backward pass where the target can; buffers of one message are neighbours in memory too.
static void sortByCompletion(StageOp stage) {
  llvm::StringMap<int64_t> order = completionOrder(stage);
  SmallVector<BufferOp> gradients;
  for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::Gradient)
      gradients.push_back(buffer);
  if (gradients.empty())
    return;
  Operation *behind = gradients.back()->getNextNode();
  llvm::stable_sort(gradients, [&](BufferOp a, BufferOp b) { return order.lookup(a.getSymName()) < order.lookup(b.getSymName()); });
  for (BufferOp buffer : gradients)
    buffer->moveBefore(behind);
}

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
    auto sharding = buffer->getAttrOfType<ShardingAttr>(kShardingAttr);
    if (buffer.getKind() != kind || !sharding || !llvm::is_contained(sharding.getUnreduced(), axis))
      continue;
    if (sharding.getReduce() != dist::ReduceKind::Sum)
      return buffer.emitOpError() << "is combined by " << stringifyReduceKind(sharding.getReduce()) << " over "
                                  << stringifyAxis(axis) << "; only sums are synchronized";
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
  llvm::MapVector<Type, SmallVector<SmallVector<Attribute>>> buckets;
  llvm::DenseMap<Type, int64_t> filled;
  for (BufferOp buffer : *buffers) {
    Type element = buffer.getTensorType().getElementType();
    int64_t bytes = countBytes(buffer);
    if (buckets[element].empty() || filled[element] + bytes > bucketBytes) {
      buckets[element].emplace_back();
      filled[element] = 0;
    }
    filled[element] += bytes;
    buckets[element].back().push_back(FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
  }
  for (auto &[element, lists] : buckets)
    for (ArrayRef<Attribute> list : lists)
      builder.create<SynchronizeOp>(stage.getLoc(), builder.getArrayAttr(list), stringifyAxis(axis), reason);
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
