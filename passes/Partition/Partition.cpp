// Makes types local and turns reshards into collectives; see Passes.td.
#include "dialects/Graph/FactorRules.h"
#include "passes/Partition/ExpandReshard.h"
#include "passes/Partition/Passes.h"
#include "passes/Support/Signature.h"

namespace p3d::partition {
#define GEN_PASS_DEF_PARTITION
#include "passes/Partition/Passes.h.inc"
} // namespace p3d::partition

using namespace mlir;
using namespace p3d;
using graph::tensorType;

namespace {
/// What has to be known of a value in global terms while types become local.
struct GlobalValue {
  SmallVector<int64_t> shape;
  dist::ShardingAttr sharding;
};

double neutralElement(Operation *op) {
  auto reduce = dyn_cast<graph::ReduceOp>(op);
  if (!reduce)
    return 0;
  switch (reduce.getKind()) {
  case graph::ReduceKind::Sum:
  case graph::ReduceKind::Or:
    return 0;
  case graph::ReduceKind::Prod:
  case graph::ReduceKind::And:
    return 1;
  case graph::ReduceKind::Max:
    return -std::numeric_limits<double>::infinity();
  case graph::ReduceKind::Min:
    return std::numeric_limits<double>::infinity();
  }
  llvm_unreachable("a reduction");
}

class Partitioner {
public:
  explicit Partitioner(ModuleOp module) : module(module), mesh(module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr)) {}

  LogicalResult run() {
    for (Operation &op : *module.getBody())
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        if (failed(record(function)))
          return failure();
    for (Operation &op : *module.getBody())
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        if (failed(rewrite(function)))
          return failure();
    return success();
  }

private:
  /// Notes the global shape, the sharding and, for operations, the factor rule, all of which need global types.
  LogicalResult record(FunctionOpInterface function) {
    for (auto [i, argument] : llvm::enumerate(function.getFunctionBody().getArguments()))
      if (failed(note(function, argument, function.getArgAttr(i, dist::kShardingAttr))))
        return failure();
    for (Operation &op : function.getFunctionBody().front()) {
      auto shardings = op.getAttrOfType<ArrayAttr>(dist::kShardingsAttr);
      for (auto [i, result] : llvm::enumerate(op.getResults()))
        if (failed(note(&op, result, shardings && i < shardings.size() ? shardings[i] : Attribute())))
          return failure();
      if (!isa<graph::CallOp, graph::YieldOp, graph::UpdateOp, dist::ReshardOp>(op))
        rules[&op] = graph::getFactorRule(&op);
    }
    return success();
  }

  LogicalResult note(Operation *op, Value value, Attribute sharding) {
    auto found = dyn_cast_or_null<dist::ShardingAttr>(sharding);
    if (!found || int64_t(found.getDims().size()) != tensorType(value).getRank())
      return op->emitOpError() << "has a value without a sharding of its rank; run p3d-propagate-shardings first";
    values[value] = {SmallVector<int64_t>(tensorType(value).getShape()), found};
    return success();
  }

  /// Of `value` is known what is known of `other`.
  void lieAlike(Value value, Value other) {
    GlobalValue known = values[other]; // a copy: the table may move when it grows
    values[value] = std::move(known);
  }

  RankedTensorType localType(Value value) {
    const GlobalValue &global = values[value];
    return tensorType(value).clone(global.sharding.localShape(global.shape, mesh));
  }

  LogicalResult rewrite(FunctionOpInterface function) {
    Block &body = function.getFunctionBody().front();
    bool isProgram = isa<graph::ProgramOp>(function.getOperation());
    if (isProgram) {
      editArgumentAttributes(function, [&](unsigned i, NamedAttrList &attributes) {
        attributes.set(dist::kGlobalTypeAttr, TypeAttr::get(body.getArgument(i).getType()));
      });
      editResultAttributes(function, [&](unsigned i, NamedAttrList &attributes) {
        Value result = body.getTerminator()->getOperand(i);
        attributes.set(dist::kGlobalTypeAttr, TypeAttr::get(tensorType(result).clone(values[result].shape)));
      });
    }
    for (BlockArgument argument : body.getArguments())
      argument.setType(localType(argument));
    for (Operation &op : llvm::make_early_inc_range(body))
      if (failed(rewriteOp(&op)))
        return failure();
    if (function->hasAttr(graph::kBackwardOfAttr))
      maskGradients(body.getTerminator());
    function.setType(FunctionType::get(function.getContext(), body.getArgumentTypes(),
                                       body.getTerminator()->getOperandTypes()));
    return success();
  }

  LogicalResult rewriteOp(Operation *op) {
    if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
      OpBuilder builder(op);
      auto moved = partition::expandReshard(builder, reshard, reshard.getOperand(), values[reshard.getOperand()].shape, mesh);
      if (failed(moved))
        return failure();
      lieAlike(*moved, reshard.getResult());
      reshard.replaceAllUsesWith(*moved);
      reshard.erase();
      return success();
    }
    auto rule = rules.find(op);
    if (rule != rules.end()) {
      maskPadding(op, rule->second);
      markPosition(op, rule->second);
    }
    for (Value result : op->getResults())
      result.setType(localType(result));
    makeAttributesLocal(op);
    declareMade(op);
    op->removeAttr(dist::kShardingsAttr);
    return success();
  }

  /// What makes dimensions that its operands do not have says what they are parts of, as arguments do.
  void declareMade(Operation *op) {
    if (!isa<graph::ConstantOp, graph::IotaOp, graph::BroadcastOp, graph::ReshapeOp>(op))
      return;
    const GlobalValue &global = values[op->getResult(0)];
    if (global.sharding.isReplicated())
      return;
    op->setAttr(dist::kShardingAttr, global.sharding);
    op->setAttr(dist::kGlobalTypeAttr, TypeAttr::get(tensorType(op->getResult(0)).clone(global.shape)));
  }

  void makeAttributesLocal(Operation *op) {
    if (auto slice = dyn_cast<graph::SliceOp>(op)) {
      SmallVector<int64_t> limits(slice.getLimits());
      for (auto [d, dim] : llvm::enumerate(values[slice.getOperand()].sharding.getDims()))
        if (!dim.axes.empty())
          limits[d] = dim.chunk;
      slice.setLimits(limits);
    }
    if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
      auto value = cast<DenseElementsAttr>(constant.getValue());
      if (value.isSplat())
        constant.setValueAttr(value.resizeSplat(tensorType(constant.getResult())));
    }
  }

  /// The dimension of `value` that starts with `factor`, if it is cut; -1 otherwise.
  int cutDim(Value value, const graph::TensorFactors &dims, int factor) {
    for (auto [d, factors] : llvm::enumerate(dims))
      if (!factors.empty() && factors.front() == factor && !values[value].sharding.getDims()[d].axes.empty())
        return d;
    return -1;
  }

  dist::ShardAttr shardOf(Value value, int dim) {
    const GlobalValue &global = values[value];
    const dist::DimSharding &cut = global.sharding.getDims()[dim];
    return dist::ShardAttr::get(module.getContext(), dim, cut.axes, cut.chunk, global.shape[dim]);
  }

  bool isUneven(dist::ShardAttr shard) {
    int64_t parts = 1;
    for (dist::Axis axis : shard.getAxes())
      parts *= mesh.getSize(axis);
    return parts * shard.getChunk() != shard.getFull();
  }

  Value masked(OpBuilder &builder, Location loc, Value value, dist::ShardAttr shard, double neutral) {
    Value mask = builder.create<dist::MaskPaddingOp>(loc, value.getType(), value, shard, builder.getF64FloatAttr(neutral));
    lieAlike(mask, value);
    return mask;
  }

  /// An operation that sums over a cut dimension with padding gets operands whose padding is neutral.
  void maskPadding(Operation *op, const graph::FactorRule &rule) {
    OpBuilder builder(op);
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      bool reduced = llvm::any_of(rule.results, [&, f = f](const graph::TensorFactors &dims) {
        return llvm::none_of(dims, [&](const graph::DimFactors &dim) { return llvm::is_contained(dim, int(f)); });
      });
      if (!reduced || factor.positional)
        continue;
      for (OpOperand &use : op->getOpOperands()) {
        int dim = cutDim(use.get(), rule.operands[use.getOperandNumber()], f);
        if (dim < 0 || !isUneven(shardOf(use.get(), dim)))
          continue;
        use.set(masked(builder, op->getLoc(), use.get(), shardOf(use.get(), dim), neutralElement(op)));
      }
    }
  }

  /// Padding of a gradient is zero, so that it adds nothing to a norm and an update leaves the padding of the parameter at zero.
  void maskGradients(Operation *yield) {
    OpBuilder builder(yield);
    for (OpOperand &use : yield->getOpOperands()) {
      int dim = values[use.get()].sharding.dimOf(dist::Axis::TPMajor);
      if (dim >= 0 && isUneven(shardOf(use.get(), dim)))
        use.set(masked(builder, yield->getLoc(), use.get(), shardOf(use.get(), dim), 0));
    }
  }

  void markPosition(Operation *op, const graph::FactorRule &rule) {
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      if (!factor.positional)
        continue;
      auto mark = [&](Value value, const graph::TensorFactors &dims) {
        if (int dim = cutDim(value, dims, f); dim >= 0)
          op->setAttr(dist::kShardAttr, shardOf(value, dim));
      };
      for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
        mark(operand, dims);
      for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
        mark(result, dims);
    }
  }

  ModuleOp module;
  dist::MeshAttr mesh;
  llvm::DenseMap<Value, GlobalValue> values;
  llvm::DenseMap<Operation *, graph::FactorRule> rules;
};

struct PartitionPass : partition::impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(dist::kMeshAttr)) {
      getOperation().emitError() << "has no mesh; run p3d-propagate-shardings first";
      return signalPassFailure();
    }
    if (failed(Partitioner(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
