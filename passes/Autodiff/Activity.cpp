#include "passes/Autodiff/Activity.h"
#include "passes/Autodiff/Rules.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

bool p3d::isParameter(BlockArgument argument) {
  auto program = dyn_cast<ProgramOp>(argument.getOwner()->getParentOp());
  if (!program || !isa<FloatType>(tensorType(argument).getElementType()))
    return false;
  auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
  return role && role.getValue() == "param";
}

void Activity::replace(Value from, Value to) {
  for (llvm::DenseSet<Value> *set : {&active, &wanted, &varying})
    if (set->erase(from))
      set->insert(to);
}

namespace {
bool isFloat(Value value) { return isa<FloatType>(tensorType(value).getElementType()); }

/// Grows the three sets of an Activity to their fixed points; each sweep visits the program and, at each call, the block.
class Analysis {
public:
  explicit Analysis(ProgramOp program) : program(program) {}

  FailureOr<Activity> run();

private:
  BlockOp calleeOf(CallOp call) { return symbols.lookupNearestSymbolFrom<BlockOp>(call, call.getCalleeAttr()); }
  LogicalResult checkCalls();
  void insert(llvm::DenseSet<Value> &set, Value value) { changed |= set.insert(value).second; }
  template <typename Fn> void untilStable(Fn sweep);

  void sweepForward(Block &body);
  void enter(CallOp call);
  void sweepBackward(Block &body);
  void enterBackward(CallOp call);

  ProgramOp program;
  SymbolTableCollection symbols;
  Activity result;
  bool changed = false;
};
} // namespace

template <typename Fn> void Analysis::untilStable(Fn sweep) {
  do {
    changed = false;
    sweep();
  } while (changed);
}

LogicalResult Analysis::checkCalls() {
  for (auto call : program.getBody().front().getOps<CallOp>())
    for (auto nested : calleeOf(call).getBody().front().getOps<CallOp>())
      return nested.emitOpError() << "stands in a block; only the program may call blocks: inline it";
  return success();
}

FailureOr<Activity> Analysis::run() {
  if (failed(checkCalls()))
    return failure();
  Block &body = program.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
    if (!role || role.getValue() != "param")
      result.varying.insert(argument);
    if (isParameter(argument))
      result.active.insert(argument);
  }
  untilStable([&] { sweepForward(body); });
  Value loss = body.getTerminator()->getOperand(0);
  if (result.active.contains(loss))
    result.wanted.insert(loss);
  untilStable([&] { sweepBackward(body); });
  return std::move(result);
}

void Analysis::sweepForward(Block &body) {
  for (Operation &op : body.without_terminator()) {
    if (auto call = dyn_cast<CallOp>(op)) {
      enter(call);
      continue;
    }
    bool varies = llvm::any_of(op.getOperands(), [&](Value v) { return result.varying.contains(v); });
    bool depends = passesGradient(&op) && llvm::any_of(op.getOperands(), [&](Value v) { return result.active.contains(v); });
    for (Value value : op.getResults()) {
      if (varies)
        insert(result.varying, value);
      if (depends && isFloat(value))
        insert(result.active, value);
    }
  }
}

void Analysis::enter(CallOp call) {
  Block &body = calleeOf(call).getBody().front();
  auto carry = [&](llvm::DenseSet<Value> &set, ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip(from, to))
      if (set.contains(source))
        insert(set, target);
  };
  for (llvm::DenseSet<Value> *set : {&result.varying, &result.active})
    carry(*set, call.getInputs(), body.getArguments());
  sweepForward(body);
  for (llvm::DenseSet<Value> *set : {&result.varying, &result.active})
    carry(*set, body.getTerminator()->getOperands(), call.getResults());
}

void Analysis::sweepBackward(Block &body) {
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (auto call = dyn_cast<CallOp>(op)) {
      enterBackward(call);
      continue;
    }
    if (!passesGradient(&op) || llvm::none_of(op.getResults(), [&](Value v) { return result.wanted.contains(v); }))
      continue;
    for (Value operand : op.getOperands())
      if (result.active.contains(operand))
        insert(result.wanted, operand);
  }
}

void Analysis::enterBackward(CallOp call) {
  BlockOp block = calleeOf(call);
  Block &body = block.getBody().front();
  for (auto [index, value] : llvm::enumerate(call.getResults())) {
    if (!result.wanted.contains(value))
      continue;
    changed |= result.wantedResults.insert({block, index}).second;
    insert(result.wanted, body.getTerminator()->getOperand(index));
  }
  sweepBackward(body);
  for (auto [operand, argument] : llvm::zip(call.getInputs(), body.getArguments()))
    if (result.wanted.contains(argument) && result.active.contains(operand))
      insert(result.wanted, operand);
}

FailureOr<Activity> p3d::analyzeActivity(ProgramOp program) { return Analysis(program).run(); }
