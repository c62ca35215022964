// ZeRO (Rajbhandari et al. 2019): what every replica would keep alike is cut over dp. Flat, so that any shape falls into shares; a share is a few elements longer than it
// need be, so that each begins where vectors do.
#include "dialects/Graph/GraphOps.h"
#include "passes/Replicate/Buckets.h"
#include "passes/Replicate/Passes.h"
#include "passes/Support/Reason.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace p3d::pipe;

namespace p3d {
#define GEN_PASS_DEF_SHARDOVERREPLICASPASS
#include "passes/Replicate/Passes.h.inc"

namespace {
/// Elements that shares, and tensors of a row, begin at multiples of: 64 bytes of 16 bits.
constexpr int64_t kShareAlignment = 32;

constexpr StringLiteral kGatherUpdated = "each rank of dp updates its share of the parameters, and all compute with the whole";
constexpr StringLiteral kGatherForUse = "each rank of dp keeps a share of the parameters, and what computes with them needs the whole";
constexpr StringLiteral kScatter = "gradients are sums over the batch, which dp cuts; each rank of dp keeps the share that it updates";

std::string nameOf(BufferOp buffer) {
  auto name = buffer->getAttrOfType<StringAttr>(graph::kNameAttr);
  return (name ? name : buffer.getSymNameAttr()).str();
}

class StageSharder {
public:
  StageSharder(StageOp stage, dist::MeshAttr mesh, int64_t zero, int64_t bucketBytes)
      : stage(stage), replicas(mesh.getDp()), zero(zero), bucketBytes(bucketBytes), builder(stage.getContext()) {}

  void run() {
    sortByCompletion(stage);
    SmallVector<BufferOp> gradients = gradientsOf(stage);
    auto kindOf = [&](BufferOp gradient) -> Attribute {
      return builder.getArrayAttr({TypeAttr::get(gradient.getTensorType().getElementType()),
                                   TypeAttr::get(parameterOf(gradient).getTensorType().getElementType()),
                                   builder.getBoolAttr(isPartial(gradient, dist::Axis::DP))});
    };
    // A gradient that each microbatch adds a share to is a row of its own.
    for (ArrayRef<BufferOp> row : makeBuckets(gradients, zero == 1 ? bucketBytes : 0, kindOf))
      shareRow(row);
    if (zero >= 2)
      for (BufferOp gradient : gradients)
        holdGradient(gradient);
    if (zero < 3)
      return;
    for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
      if (isWeight(buffer)) {
        if (!shareOf(buffer))
          setShares(buffer);
        holdParameter(buffer);
      }
  }

private:
  BufferOp parameterOf(BufferOp gradient) { return stage.getBuffer(gradient->getAttrOfType<FlatSymbolRefAttr>(kOfAttr).getValue()); }

  /// Frozen ones too: nothing is so large, and all replicas have the same.
  bool isWeight(BufferOp buffer) {
    auto role = buffer->getAttrOfType<StringAttr>(graph::kRoleAttr);
    return buffer.getKind() == BufferKind::Parameter && (shareOf(buffer) || (role && role.getValue() == "frozen"));
  }

  /// Gives gradients that stand in a row, and their parameters, their shares.
  void shareRow(ArrayRef<BufferOp> gradients) {
    SmallVector<BufferOp> parameters = llvm::map_to_vector(gradients, [&](BufferOp gradient) { return parameterOf(gradient); });
    for (ArrayRef<BufferOp> row : {gradients, ArrayRef(parameters)})
      setShares(row);
    TaskOp update = stage.getTask(TaskKind::Update);
    if (!update || zero == 3)
      return;
    builder.setInsertionPointToEnd(&update.getBody().front());
    builder.create<GatherSharesOp>(stage.getLoc(), namesOf(parameters), dist::stringifyAxis(dist::Axis::DP), kGatherUpdated);
  }

  void setShares(ArrayRef<BufferOp> row) {
    int64_t end = 0;
    SmallVector<int64_t> starts;
    for (BufferOp buffer : row) {
      starts.push_back(llvm::alignTo(end, kShareAlignment));
      end = starts.back() + buffer.getTensorType().getNumElements();
    }
    int64_t chunk = llvm::alignTo(llvm::divideCeil(end, replicas), kShareAlignment);
    auto first = FlatSymbolRefAttr::get(BufferOp(row.front()).getSymNameAttr());
    for (auto [buffer, start] : llvm::zip(row, starts))
      BufferOp(buffer)->setAttr(kShareAttr, ShareAttr::get(builder.getContext(), chunk, first, start));
  }

  void hold(BufferOp buffer) {
    buffer.setType(buffer.getTensorType().clone({shareOf(buffer).getChunk()}));
    buffer->setAttr(kHoldsShareAttr, builder.getUnitAttr());
  }

  RankedTensorType flat(Type type) { return cast<RankedTensorType>(type).clone({cast<RankedTensorType>(type).getNumElements()}); }

  /// What is added to it is scattered before.
  void holdGradient(BufferOp gradient) {
    hold(gradient);
    for (AccumulateOp op : walkFor<AccumulateOp>(gradient))
      op.getValueMutable().assign(scatter(op, gradient));
  }

  Value scatter(AccumulateOp op, BufferOp gradient) {
    builder.setInsertionPoint(op);
    Value value = op.getValue();
    // As it is summed.
    auto whole = cast<RankedTensorType>(value.getType()).clone(gradient.getTensorType().getElementType());
    if (value.getType() != whole)
      value = builder.create<graph::ConvertOp>(op.getLoc(), whole, value);
    value = builder.create<graph::ReshapeOp>(op.getLoc(), flat(whole), value);
    if (!isPartial(gradient, dist::Axis::DP))
      return builder.create<dist::ShardSliceOp>(op.getLoc(), gradient.getType(), value, 0, dist::Axis::DP);
    auto made = builder.create<dist::ReduceScatterOp>(op.getLoc(), gradient.getType(), dist::ReduceKind::Sum, value, 0, dist::Axis::DP, kScatter);
    annotateReason(made, {"", "dp=1; --zero=1 sums once a step", {nameOf(parameterOf(gradient))}});
    return made;
  }

  /// Whoever uses it gathers it, and forgets it afterwards.
  void holdParameter(BufferOp parameter) {
    Type whole = parameter.getType();
    if (!parameter.getGlobalType())
      parameter.setGlobalType(whole);
    hold(parameter);
    for (ReadOp read : walkFor<ReadOp>(parameter)) {
      read.getResult().setType(parameter.getTensorType());
      llvm::SetVector<Operation *> users(read->user_begin(), read->user_end());
      for (Operation *user : users) {
        builder.setInsertionPoint(user);
        auto gathered = builder.create<dist::AllGatherOp>(user->getLoc(), flat(whole), read, 0, dist::Axis::DP, kGatherForUse);
        annotateReason(gathered, {"", "dp=1; --zero=2 keeps parameters whole", {nameOf(parameter)}});
        user->replaceUsesOfWith(read, builder.create<graph::ReshapeOp>(user->getLoc(), whole, gathered));
      }
    }
  }

  template <typename Op> SmallVector<Op> walkFor(BufferOp buffer) {
    SmallVector<Op> found;
    stage.walk([&](Op op) {
      if (op.getBuffer() == buffer.getSymName())
        found.push_back(op);
    });
    return found;
  }

  StageOp stage;
  int64_t replicas, zero, bucketBytes;
  OpBuilder builder;
};

struct ShardOverReplicasPass : impl::ShardOverReplicasPassBase<ShardOverReplicasPass> {
  using ShardOverReplicasPassBase::ShardOverReplicasPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!mesh) {
      module.emitError() << "has no '" << dist::kMeshAttr << "'";
      return signalPassFailure();
    }
    if (zero < 1 || mesh.getDp() == 1)
      return;
    for (StageOp stage : module.getOps<StageOp>())
      StageSharder(stage, mesh, zero, bucketBytes).run();
  }
};
} // namespace
} // namespace p3d
