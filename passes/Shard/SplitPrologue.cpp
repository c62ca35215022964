// Gathers the parameter-independent operations of the program in @prologue and @shared; see Passes.td.
#include "passes/Shard/DimClasses.h"
#include "passes/Shard/Passes.h"
#include "passes/Shard/ShardingAnalysis.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"

namespace p3d::shard {
#define GEN_PASS_DEF_SPLITPROLOGUE
#include "passes/Shard/Passes.h.inc"
} // namespace p3d::shard

using namespace mlir;
using namespace p3d;
using namespace p3d::shard;
using graph::tensorType;

namespace {
using OpSet = llvm::SetVector<Operation *>;

/// The operations of the program that depend on inputs alone, in order.
OpSet findParameterIndependent(graph::ProgramOp program) {
  OpSet found;
  auto isIndependent = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
      return role && role.getValue() == "input";
    }
    return found.contains(value.getDefiningOp());
  };
  for (Operation &op : program.getBody().front())
    if (!isa<graph::CallOp, graph::YieldOp, graph::UpdateOp>(op) && llvm::all_of(op.getOperands(), isIndependent))
      found.insert(&op);
  return found;
}

bool carriesBatch(Operation *op, const DimClasses &classes) {
  return llvm::any_of(op->getResults(), [&](Value result) {
    for (int64_t d = 0; d < tensorType(result).getRank(); ++d)
      if (classes.batchClass() != DimClasses::kNone && classes.classOf(result, d) == classes.batchClass())
        return true;
    return false;
  });
}

/// `roots` and all they depend on within `all`, in program order.
OpSet closure(const OpSet &all, const OpSet &roots, llvm::function_ref<bool(Operation *)> stopAt) {
  llvm::DenseSet<Operation *> wanted(roots.begin(), roots.end());
  for (Operation *op : llvm::reverse(all))
    if (wanted.contains(op))
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp(); def && !stopAt(def))
          wanted.insert(def);
  OpSet ordered;
  for (Operation *op : all)
    if (wanted.contains(op))
      ordered.insert(op);
  return ordered;
}

/// Clones `ops` into a new block, calls it before `where` and replaces the uses of `roots` for which `isOutside` holds.
void outline(graph::ProgramOp program, StringRef name, StringRef attribute, const OpSet &ops, const OpSet &roots,
             Operation *where, llvm::function_ref<bool(OpOperand &)> isOutside) {
  llvm::SetVector<Value> inputs;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() || !ops.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  SmallVector<Value> results;
  for (Operation *root : roots)
    llvm::append_range(results, root->getResults());
  OpBuilder builder(program);
  auto type = builder.getFunctionType(ValueRange(inputs.getArrayRef()).getTypes(), ValueRange(results).getTypes());
  auto block = builder.create<graph::BlockOp>(program.getLoc(), name, type);
  block->setAttr(attribute, builder.getUnitAttr());
  IRMapping map;
  map.map(inputs.getArrayRef(), block.getBody().getArguments());
  builder.setInsertionPointToStart(&block.getBody().front());
  for (Operation *op : ops)
    builder.clone(*op, map);
  SmallVector<Value> mapped = llvm::map_to_vector(results, [&](Value value) { return map.lookup(value); });
  builder.create<graph::YieldOp>(program.getLoc(), mapped);
  builder.setInsertionPoint(where);
  auto call = builder.create<graph::CallOp>(program.getLoc(), ValueRange(results).getTypes(), name, inputs.getArrayRef(),
                                            IntegerAttr());
  for (auto [result, replacement] : llvm::zip(results, call.getOutputs()))
    result.replaceUsesWithIf(replacement, isOutside);
}

struct SplitProloguePass : shard::impl::SplitPrologueBase<SplitProloguePass> {
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<graph::ProgramOp>()))
      split(program);
  }

  void split(graph::ProgramOp program) {
    DimClasses classes(getOperation());
    OpSet all = findParameterIndependent(program);
    auto isOutside = [&](OpOperand &use) { return !all.contains(use.getOwner()) && !isa<graph::BlockOp>(use.getOwner()->getParentOp()); };
    auto usedOutside = [&](Operation *op) { return llvm::any_of(op->getUses(), isOutside); };
    auto isConstant = [](Operation *op) { return isa<graph::ConstantOp>(op); };
    OpSet shared, complete;
    for (Operation *op : all)
      if (usedOutside(op) && !isConstant(op))
        (carriesBatch(op, classes) ? shared : complete).insert(op);
    // A complete value that only feeds shared ones is computed once too, unless it is a constant.
    OpSet sharedOps = closure(all, shared, [&](Operation *op) { return !isConstant(op) && !carriesBatch(op, classes); });
    for (Operation *op : sharedOps)
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp(); def && !sharedOps.contains(def))
          complete.insert(def);
    OpSet prologueOps = closure(all, complete, [](Operation *) { return false; });
    Operation *start = &program.getBody().front().front();
    auto leavesPrologue = [&](OpOperand &use) { return isOutside(use) || sharedOps.contains(use.getOwner()); };
    if (!complete.empty())
      outline(program, "prologue", kPrologueAttr, prologueOps, complete, start, leavesPrologue);
    if (!shared.empty())
      outline(program, "shared", kSharedAttr, sharedOps, shared, start, isOutside);
    for (Operation *op : llvm::reverse(all))
      if (op->use_empty())
        op->erase();
  }
};
} // namespace
