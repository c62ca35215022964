// Values that are whole anyway are not gathered again behind element-wise operations; see Passes.td.
#include "dialects/Graph/FactorRules.h"
#include "passes/Shard/Passes.h"

namespace p3d::shard {
#define GEN_PASS_DEF_SHAREGATHERS
#include "passes/Shard/Passes.h.inc"
} // namespace p3d::shard

using namespace mlir;
using namespace p3d;

namespace {
/// Finds what a gathered value would be if it were computed from whole operands.
class WholeValues {
public:
  explicit WholeValues(dist::ReshardOp gather) : gather(gather), builder(gather) {}

  /// Makes the value of the gather, without a collective, in its place; null if that cannot be.
  Value make() {
    Value operand = gather.getOperand();
    if (!operand.getDefiningOp() || !isElementwise(operand.getDefiningOp()) || !isAvailable(operand, gather.getTo(), kMostOperations) || !meetsGathered)
      return {};
    return build(operand, gather.getTo());
  }

private:
  /// Operations that are worth repeating on the whole value instead of a gather.
  static constexpr int kMostOperations = 8;

  static bool isElementwise(Operation *op) { return op->hasTrait<graph::Elementwise>() && op->getNumResults() == 1; }

  static dist::ShardingAttr shardingOf(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return cast<FunctionOpInterface>(argument.getOwner()->getParentOp()).getArgAttrOfType<dist::ShardingAttr>(argument.getArgNumber(), dist::kShardingAttr);
    auto shardings = value.getDefiningOp()->getAttrOfType<ArrayAttr>(dist::kShardingsAttr);
    return shardings ? cast<dist::ShardingAttr>(shardings[cast<OpResult>(value).getResultNumber()]) : dist::ShardingAttr();
  }

  /// `value` lying as `sharding`, as far as it is there already.
  Value find(Value value, dist::ShardingAttr sharding) const {
    if (shardingOf(value) == sharding)
      return value;
    if (auto taken = value.getDefiningOp<dist::ReshardOp>())
      return find(taken.getOperand(), sharding);
    for (Operation *user : value.getUsers())
      if (auto other = dyn_cast<dist::ReshardOp>(user); other && other != gather && other.getTo() == sharding && other->isBeforeInBlock(gather))
        return other;
    return {};
  }

  /// How the operand of a broadcast has to lie.
  static dist::ShardingAttr beforeBroadcast(graph::BroadcastOp broadcast, dist::ShardingAttr to) {
    SmallVector<dist::DimSharding> dims;
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      dims.push_back(graph::tensorType(broadcast.getOperand()).getDimSize(i) == 1 ? dist::DimSharding() : to.getDims()[dim]);
    return dist::ShardingAttr::get(to.getContext(), dims, {}, dist::ReduceKind::Sum);
  }

  bool isAvailable(Value value, dist::ShardingAttr sharding, int most) {
    if (Value found = find(value, sharding)) {
      meetsGathered |= found.getDefiningOp<dist::ReshardOp>() != nullptr;
      return true;
    }
    Operation *op = value.getDefiningOp();
    if (!op || most == 0)
      return false;
    if (auto constant = dyn_cast<graph::ConstantOp>(op))
      return constant.getValue().isSplat();
    if (auto broadcast = dyn_cast<graph::BroadcastOp>(op))
      return isAvailable(broadcast.getOperand(), beforeBroadcast(broadcast, sharding), most - 1);
    return isElementwise(op) && llvm::all_of(op->getOperands(), [&](Value operand) { return isAvailable(operand, sharding, most - 1); });
  }

  Value build(Value value, dist::ShardingAttr sharding) {
    if (Value found = find(value, sharding))
      return found;
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      auto broadcast = dyn_cast<graph::BroadcastOp>(op);
      mapping.map(operand, build(operand, broadcast ? beforeBroadcast(broadcast, sharding) : sharding));
    }
    Operation *whole = builder.clone(*op, mapping);
    whole->setAttr(dist::kShardingsAttr, builder.getArrayAttr({sharding}));
    return whole->getResult(0);
  }

  dist::ReshardOp gather;
  OpBuilder builder;
  bool meetsGathered = false; ///< something was gathered for another use
};

struct ShareGathersPass : shard::impl::ShareGathersBase<ShareGathersPass> {
  void runOnOperation() override {
    SmallVector<dist::ReshardOp> gathers;
    getOperation().walk([&](dist::ReshardOp op) {
      if (op.getFrom().getUnreduced().empty() && op.getFrom().dimOf(dist::Axis::TP) >= 0 && op.getTo().dimOf(dist::Axis::TPMajor) < 0)
        gathers.push_back(op);
    });
    for (dist::ReshardOp gather : gathers)
      if (Value whole = WholeValues(gather).make()) {
        gather.replaceAllUsesWith(whole);
        eraseUnused(gather);
      }
  }

  /// Erases `op` and what only it has used.
  static void eraseUnused(Operation *op) {
    SmallVector<Operation *> makers;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && !llvm::is_contained(makers, maker))
        makers.push_back(maker);
    op->erase();
    for (Operation *maker : makers)
      if (maker->use_empty() && isMemoryEffectFree(maker))
        eraseUnused(maker);
  }
};
} // namespace
