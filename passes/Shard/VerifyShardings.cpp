// The invariant of the shard level; see Passes.td.
#include "dialects/Graph/FactorRules.h"
#include "passes/Shard/Passes.h"

namespace p3d::shard {
#define GEN_PASS_DEF_VERIFYSHARDINGS
#include "passes/Shard/Passes.h.inc"
} // namespace p3d::shard

using namespace mlir;
using namespace p3d;

namespace {
dist::ShardingAttr shardingOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
        .getArgAttrOfType<dist::ShardingAttr>(argument.getArgNumber(), dist::kShardingAttr);
  auto all = value.getDefiningOp()->getAttrOfType<ArrayAttr>(dist::kShardingsAttr);
  unsigned index = cast<OpResult>(value).getResultNumber();
  return all && index < all.size() ? dyn_cast<dist::ShardingAttr>(all[index]) : dist::ShardingAttr();
}

/// A factor that an axis cuts, and the one that has to stand before it, as its axis does before this one; -1 where there is none.
struct CutFactor {
  int factor = -1, before = -1;

  /// Whether a dimension starts with them.
  bool starts(const graph::DimFactors &factors) const {
    ArrayRef<int> rest = factors;
    if (before >= 0 && !rest.empty() && rest.front() == before)
      rest = rest.drop_front();
    else if (before >= 0)
      return false;
    return factor >= 0 && !rest.empty() && rest.front() == factor;
  }
};

/// The factor that `axis` cuts in `op`: that of the first operand or result that is cut over it.
CutFactor factorCutBy(Operation *op, const graph::FactorRule &rule, dist::Axis axis, dist::MeshAttr mesh) {
  auto find = [&](Value value, const graph::TensorFactors &dims) -> CutFactor {
    int dim = shardingOf(value).dimOf(axis);
    if (dim < 0 || dims[dim].empty())
      return {};
    // Where tp_major has used up the first factor, tp_minor cuts the next.
    auto fillsTp = [&] { return shardingOf(value).getDims()[dim].chunk * mesh.getTp() == graph::tensorType(value).getDimSize(dim); };
    if (axis == dist::Axis::TPMinor && fillsTp() && rule.factors[dims[dim].front()].size == mesh.getSize(dist::Axis::TPMajor))
      return dims[dim].size() > 1 ? CutFactor{dims[dim][1], dims[dim].front()} : CutFactor{};
    return {dims[dim].front(), -1};
  };
  for (auto [value, dims] : llvm::concat<const std::pair<Value, graph::TensorFactors>>(
           llvm::to_vector(llvm::map_range(llvm::zip(op->getOperands(), rule.operands), [](auto pair) {
             return std::pair<Value, graph::TensorFactors>(std::get<0>(pair), std::get<1>(pair)); })),
           llvm::to_vector(llvm::map_range(llvm::zip(op->getResults(), rule.results), [](auto pair) {
             return std::pair<Value, graph::TensorFactors>(std::get<0>(pair), std::get<1>(pair)); }))))
    if (CutFactor cut = find(value, dims); cut.factor >= 0)
      return cut;
  return {};
}

/// Every tensor with the cut factor is cut where it stands, every other is whole; results without it are partial.
LogicalResult checkAxis(Operation *op, const graph::FactorRule &rule, dist::Axis axis, dist::MeshAttr mesh) {
  CutFactor cut = factorCutBy(op, rule, axis, mesh);
  auto expectedDim = [&](const graph::TensorFactors &dims) {
    auto found = llvm::find_if(dims, [&](const graph::DimFactors &factors) { return cut.starts(factors); });
    return found == dims.end() ? -1 : int(found - dims.begin());
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    int expected = expectedDim(rule.operands[i]), found = shardingOf(operand).dimOf(axis);
    if (found != expected)
      return op->emitOpError() << "operand " << i << " has dimension " << found << " cut over " << stringifyAxis(axis)
                               << ", expected " << expected << " (-1: none)";
    if (cut.factor >= 0 && shardingOf(operand).isUnreduced(axis))
      return op->emitOpError() << "operand " << i << " is partial over " << stringifyAxis(axis)
                               << ", which cuts the operation; it must be complete";
  }
  bool anyPartial = llvm::any_of(op->getOperands(), [&](Value v) { return shardingOf(v).isUnreduced(axis); });
  if (anyPartial && graph::getLinearity(op).kind == graph::Linearity::None)
    return op->emitOpError() << "has an operand that is partial over " << stringifyAxis(axis)
                             << " but is not linear in it; a reshard is missing";
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    int expected = expectedDim(rule.results[i]);
    bool partial = anyPartial || (cut.factor >= 0 && expected < 0);
    if (shardingOf(result).dimOf(axis) != expected || shardingOf(result).isUnreduced(axis) != partial)
      return op->emitOpError() << "result " << i << " has sharding " << shardingOf(result) << ", expected "
                               << (partial ? "partial" : expected < 0 ? "whole" : "cut") << " over " << stringifyAxis(axis);
  }
  return success();
}

struct VerifyShardingsPass : shard::impl::VerifyShardingsBase<VerifyShardingsPass> {
  void runOnOperation() override {
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    SmallVector<dist::Axis> axes{dist::Axis::DP, dist::Axis::MB, dist::Axis::TP};
    if (mesh && mesh.getTpMinor() > 1)
      axes = {dist::Axis::DP, dist::Axis::MB, dist::Axis::TPMajor, dist::Axis::TPMinor};
    auto result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (!isa_and_nonnull<FunctionOpInterface>(op->getParentOp()) || isa<graph::UpdateOp>(op))
        return WalkResult::advance();
      for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())))
        if (!shardingOf(value))
          return op->emitOpError() << "has a value without a sharding";
      if (isa<graph::CallOp, graph::YieldOp, dist::ReshardOp>(op))
        return WalkResult::advance();
      graph::FactorRule rule = graph::getFactorRule(op);
      for (dist::Axis axis : axes)
        if (failed(checkAxis(op, rule, axis, mesh)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
