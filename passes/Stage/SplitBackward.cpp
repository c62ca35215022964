// Splits backward blocks in two: gradients of the layer's inputs, which the stage before waits for, and of its weights.
#include "passes/Stage/Passes.h"
#include "passes/Stage/TrainingStep.h"
#include "dialects/Dist/DistOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace p3d {
#define GEN_PASS_DEF_SPLITBACKWARDPASS
#include "passes/Stage/Passes.h.inc"

namespace {
using namespace graph;

/// Splits one backward block and its calls.
class BlockSplitter {
public:
  BlockSplitter(BlockOp block, ArrayRef<CallOp> calls, const TrainingStep &step)
      : block(block), body(block.getBody().front()), yield(body.getTerminator()), calls(calls), step(step) {}

  /// Decides, and changes nothing.
  void analyze() {
    findWeightOps();
    for (Operation &op : body.without_terminator())
      if (moved.contains(&op))
        for (Value operand : op.getOperands())
          need(operand);
  }

  void apply() {
    if (moved.empty())
      return;
    BlockOp weights = makeWeightBlock();
    SmallVector<unsigned> kept;
    for (unsigned i = 0; i < yield->getNumOperands(); ++i)
      if (!llvm::is_contained(weightResults, i))
        kept.push_back(i);
    BlockOp inputs = kept.empty() && extra.empty() ? BlockOp() : makeInputBlock(kept);
    for (CallOp call : calls)
      replace(call, inputs, weights, kept);
    block.erase();
  }

private:
  /// What only weight gradients need, and which results those are.
  void findWeightOps() {
    for (unsigned i = 0; i < yield->getNumOperands(); ++i) {
      auto isWeight = [&](CallOp call) { return step.feedsWeightGradientsAlone(call.getResult(i)); };
      if (llvm::all_of(calls, isWeight))
        weightResults.push_back(i);
    }
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (llvm::all_of(op.getUses(), [&](OpOperand &use) {
            return use.getOwner() == yield ? llvm::is_contained(weightResults, use.getOperandNumber()) : moved.contains(use.getOwner());
          }))
        moved.insert(&op);
    llvm::erase_if(weightResults, [&](unsigned i) { return !moved.contains(yield->getOperand(i).getDefiningOp()); });
  }

  /// Whether an argument is kept until the weight gradients anyway: no call passes a gradient.
  bool isKept(BlockArgument argument) {
    return llvm::none_of(calls, [&](CallOp call) {
      Operation *def = step.source(call.getOperand(argument.getArgNumber())).getDefiningOp();
      return def && isGradient(step.phaseOf(def));
    });
  }

  /// Whether computing `value` again takes no memory for it between the two passes and little time.
  bool isRepeatable(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return isKept(argument);
    Operation *op = value.getDefiningOp();
    auto [known, isNew] = repeatable.try_emplace(op, false);
    if (!isNew)
      return known->second;
    bool result = (op->hasTrait<Elementwise>() || isa<ConstantOp, IotaOp, BroadcastOp, ReshapeOp>(op)) &&
                  llvm::all_of(op->getOperands(), [&](Value operand) { return isRepeatable(operand); });
    return repeatable[op] = result;
  }

  /// Makes `value`, of the arguments or of the other operations, an argument of the weight block.
  void need(Value value) {
    Operation *def = value.getDefiningOp();
    if (!def)
      inputs.insert(value);
    else if (moved.contains(def) || repeated.contains(def))
      return;
    else if (isRepeatable(value)) {
      for (Value operand : def->getOperands())
        need(operand);
      repeated.insert(def);
    } else if (inputs.insert(value))
      extra.push_back(value);
  }

  BlockOp makeWeightBlock() {
    OpBuilder builder(block.getContext());
    builder.setInsertionPointAfter(block);
    SmallVector<Value> results = llvm::map_to_vector(weightResults, [&](unsigned i) { return yield->getOperand(i); });
    auto type = builder.getFunctionType(ValueRange(inputs.getArrayRef()).getTypes(), ValueRange(results).getTypes());
    auto forward = block->getAttrOfType<FlatSymbolRefAttr>(kBackwardOfAttr);
    StringRef name = block.getName();
    name.consume_back(".bwd");
    auto made = builder.create<BlockOp>(block.getLoc(), (name + ".wgrad").str(), type);
    SymbolTable(block->getParentOfType<ModuleOp>()).insert(made, std::next(block->getIterator()));
    made->setAttr(kWeightGradientOfAttr, forward);
    for (auto [index, input] : llvm::enumerate(inputs))
      if (auto argument = dyn_cast<BlockArgument>(input))
        if (DictionaryAttr attributes = block.getArgAttrDict(argument.getArgNumber()))
          made.setArgAttrs(index, attributes);
    copyResultAttributes(made, weightResults);
    IRMapping map;
    map.map(inputs.getArrayRef(), made.getBody().getArguments());
    builder.setInsertionPointToStart(&made.getBody().front());
    for (Operation &op : body.without_terminator())
      if (moved.contains(&op) || repeated.contains(&op))
        builder.clone(op, map);
    builder.create<YieldOp>(block.getLoc(), llvm::map_to_vector(results, [&](Value value) { return map.lookup(value); }));
    return made;
  }

  BlockOp makeInputBlock(ArrayRef<unsigned> kept) {
    OpBuilder builder(block);
    SmallVector<Value> results = llvm::map_to_vector(kept, [&](unsigned i) { return yield->getOperand(i); });
    llvm::append_range(results, extra);
    llvm::DenseSet<Value> used;
    for (Operation &op : body)
      if (!moved.contains(&op))
        used.insert(op.operand_begin(), op.operand_end());
    for (BlockArgument argument : body.getArguments())
      if (used.contains(argument))
        arguments.push_back(argument.getArgNumber());
    SmallVector<Value> taken = llvm::map_to_vector(arguments, [&](unsigned i) -> Value { return body.getArgument(i); });
    auto type = builder.getFunctionType(ValueRange(taken).getTypes(), ValueRange(results).getTypes());
    auto made = builder.create<BlockOp>(block.getLoc(), block.getName(), type);
    made->setAttr(kBackwardOfAttr, block->getAttr(kBackwardOfAttr));
    for (auto [index, argument] : llvm::enumerate(arguments))
      if (DictionaryAttr attributes = block.getArgAttrDict(argument))
        made.setArgAttrs(index, attributes);
    copyResultAttributes(made, kept);
    IRMapping map;
    map.map(taken, made.getBody().getArguments());
    builder.setInsertionPointToStart(&made.getBody().front());
    for (Operation &op : body.without_terminator())
      if (!moved.contains(&op))
        builder.clone(op, map);
    builder.create<YieldOp>(block.getLoc(), llvm::map_to_vector(results, [&](Value value) { return map.lookup(value); }));
    return made;
  }

  void copyResultAttributes(BlockOp made, ArrayRef<unsigned> from) {
    for (auto [index, result] : llvm::enumerate(from))
      if (DictionaryAttr attributes = block.getResultAttrDict(result))
        made.setResultAttrs(index, attributes);
  }

  void replace(CallOp call, BlockOp inputBlock, BlockOp weightBlock, ArrayRef<unsigned> kept) {
    OpBuilder builder(call);
    auto makeCall = [&](BlockOp callee, ArrayRef<Value> operands) {
      auto made = builder.create<CallOp>(call.getLoc(), callee.getResultTypes(), callee.getName(), operands, call.getLayerAttr());
      made->setDiscardableAttrs(call->getDiscardableAttrDictionary());
      return made;
    };
    CallOp inputCall;
    if (inputBlock) {
      inputCall = makeCall(inputBlock, llvm::map_to_vector(arguments, [&](unsigned i) { return call.getOperand(i); }));
      for (auto [index, result] : llvm::enumerate(kept))
        call.getResult(result).replaceAllUsesWith(inputCall.getResult(index));
    }
    SmallVector<Value> operands;
    for (Value input : inputs) {
      if (auto argument = dyn_cast<BlockArgument>(input))
        operands.push_back(call.getOperand(argument.getArgNumber()));
      else
        operands.push_back(inputCall.getResult(kept.size() + std::distance(extra.begin(), llvm::find(extra, input))));
    }
    CallOp weightCall = makeCall(weightBlock, operands);
    weightCall->setAttr(kGradRoleAttr, builder.getStringAttr("weight_grad"));
    for (auto [index, result] : llvm::enumerate(weightResults))
      call.getResult(result).replaceAllUsesWith(weightCall.getResult(index));
    call.erase();
  }

  BlockOp block;
  Block &body;
  Operation *yield;
  ArrayRef<CallOp> calls;
  const TrainingStep &step;
  SmallVector<unsigned> weightResults; ///< of the block
  llvm::DenseSet<Operation *> moved;   ///< to the weight block
  llvm::DenseSet<Operation *> repeated; ///< in both
  llvm::DenseMap<Operation *, bool> repeatable;
  llvm::SetVector<Value> inputs;   ///< of the weight block
  SmallVector<Value> extra;        ///< of these, what the other block makes
  SmallVector<unsigned> arguments; ///< of the block that the other one keeps
};

struct SplitBackwardPass : impl::SplitBackwardPassBase<SplitBackwardPass> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      if (failed(split(program)))
        return signalPassFailure();
  }

  LogicalResult split(ProgramOp program) {
    auto step = TrainingStep::analyze(program);
    if (failed(step))
      return failure();
    llvm::MapVector<BlockOp, SmallVector<CallOp>> calls;
    for (Operation &op : step->getBody())
      if (auto call = dyn_cast<CallOp>(op); call && step->forwardOf(call))
        calls[call.lookupBlock()].push_back(call);
      else if (!call && step->phaseOf(&op) == Phase::Backward && !step->isGradientSum(&op) &&
               llvm::all_of(op.getResults(), [&](Value result) { return step->feedsWeightGradientsAlone(result); }))
        op.setAttr(kWeightGradientAttr, UnitAttr::get(&getContext()));
    std::vector<BlockSplitter> splitters;
    for (auto &[block, list] : calls)
      splitters.emplace_back(block, list, *step).analyze();
    for (BlockSplitter &splitter : splitters)
      splitter.apply();
    return success();
  }
};
} // namespace
} // namespace p3d
