// Small partial values that are ready together are completed together; see Passes.td.
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/TensorBytes.h"
#include "passes/Shard/Passes.h"
#include "passes/Support/Reason.h"

namespace p3d::shard {
#define GEN_PASS_DEF_MERGERESHARDS
#include "passes/Shard/Passes.h.inc"
} // namespace p3d::shard

using namespace mlir;
using namespace p3d;

namespace {
/// To bring so much together takes a device about as long as a message less saves; of the largest models it is the numbers of each token.
constexpr int64_t kMostBytes = 4 << 20;

/// Whether it completes partial values. Gathers stay where they are: what they bring takes memory until it is used.
bool completes(dist::ReshardOp op) { return op.getFrom().getUnreduced() != op.getTo().getUnreduced() && op.getFrom().getDims() == op.getTo().getDims(); }

/// How `count` tensors that lie as `sharding` lie as the rows of one.
dist::ShardingAttr ofRows(dist::ShardingAttr sharding) {
  SmallVector<dist::DimSharding> dims{{}};
  llvm::append_range(dims, sharding.getDims());
  return dist::ShardingAttr::get(sharding.getContext(), dims, sharding.getUnreduced(), sharding.getReduce());
}

/// Replaces reshards that are alike by one of all of their operands, in the place of the last.
class Merger {
public:
  explicit Merger(ArrayRef<dist::ReshardOp> reshards) : reshards(reshards), last(this->reshards.back()), builder(last), type(cast<RankedTensorType>(last.getType())) {}

  void run() {
    SmallVector<Location> places;
    for (dist::ReshardOp &reshard : reshards)
      places.push_back(reshard.getLoc());
    location = FusedLoc::get(builder.getContext(), places);
    dist::ShardingAttr from = ofRows(last.getFrom()), to = ofRows(last.getTo());
    SmallVector<Value> rows;
    for (dist::ReshardOp &reshard : reshards) {
      rows.push_back(lying(builder.create<graph::ReshapeOp>(location, withRows(1), reshard.getOperand()), from));
    }
    Value together = lying(builder.create<graph::ConcatOp>(location, withRows(rows.size()), rows, 0), from);
    Reason reason = joinReasons(SmallVector<Operation *>(reshards.begin(), reshards.end()));
    auto reshard = builder.create<dist::ReshardOp>(location, together.getType(), together, from, to, builder.getStringAttr(reason.text));
    annotateReason(reshard, reason);
    Value moved = lying(reshard, to);
    for (auto [i, reshard] : llvm::enumerate(reshards)) {
      SmallVector<int64_t> starts(type.getRank() + 1, 0), limits(withRows(int64_t(i) + 1).getShape()), strides(type.getRank() + 1, 1);
      starts[0] = i;
      Value row = lying(builder.create<graph::SliceOp>(location, withRows(1), moved, starts, limits, strides), to);
      reshard.replaceAllUsesWith(lying(builder.create<graph::ReshapeOp>(location, type, row), reshard.getTo()));
    }
    for (dist::ReshardOp &reshard : reshards)
      reshard.erase();
  }

private:
  RankedTensorType withRows(int64_t rows) const {
    SmallVector<int64_t> shape{rows};
    llvm::append_range(shape, type.getShape());
    return type.clone(shape);
  }

  Value lying(Operation *op, dist::ShardingAttr sharding) {
    op->setAttr(dist::kShardingsAttr, builder.getArrayAttr({sharding}));
    return op->getResult(0);
  }

  SmallVector<dist::ReshardOp> reshards;
  dist::ReshardOp last;
  OpBuilder builder;
  RankedTensorType type;
  Location location = last.getLoc();
};

struct MergeReshardsPass : shard::impl::MergeReshardsBase<MergeReshardsPass> {
  void runOnOperation() override {
    mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    for (Operation &function : *getOperation().getBody())
      if (auto body = dyn_cast<FunctionOpInterface>(function))
        mergeIn(body.getFunctionBody().front());
  }

  void mergeIn(Block &block) {
    SmallVector<SmallVector<dist::ReshardOp>> groups;
    for (auto reshard : block.getOps<dist::ReshardOp>()) {
      if (!completes(reshard))
        continue;
      auto group = llvm::find_if(groups, [&](SmallVectorImpl<dist::ReshardOp> &group) { return joins(reshard, group); });
      if (group == groups.end())
        groups.push_back({reshard});
      else
        group->push_back(reshard);
    }
    for (ArrayRef<dist::ReshardOp> group : groups)
      if (group.size() > 1)
        Merger(group).run();
  }

  bool joins(dist::ReshardOp reshard, SmallVectorImpl<dist::ReshardOp> &group) {
    dist::ReshardOp first = group.front();
    if (first.getType() != reshard.getType() || first.getFrom() != reshard.getFrom() || first.getTo() != reshard.getTo())
      return false;
    auto type = cast<RankedTensorType>(reshard.getType());
    int64_t bytes = graph::elementBytes(type) * (group.size() + 1);
    for (int64_t size : reshard.getFrom().localShape(type.getShape(), mesh))
      bytes *= size;
    // Nothing in front of it needs what the others bring.
    auto mayWait = [&](dist::ReshardOp &other) {
      return llvm::all_of(other->getUsers(), [&](Operation *user) { return reshard->isBeforeInBlock(user); });
    };
    return bytes <= kMostBytes && llvm::all_of(group, mayWait);
  }

  dist::MeshAttr mesh;
};
} // namespace
