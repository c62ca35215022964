// Classification of the training step's top level.
#include "passes/Stage/TrainingStep.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

static constexpr StringLiteral kPrologueAttr = "graph.prologue";
static constexpr StringLiteral kSharedAttr = "graph.shared";
static constexpr StringLiteral kGradientPrefix = "grads.";

FailureOr<TrainingStep> TrainingStep::analyze(ProgramOp program) {
  TrainingStep step(program);
  if (failed(step.classify()) || failed(step.matchBackwardCalls()) || failed(step.collectGradients()))
    return failure();
  step.findGradientSums();
  return step;
}

unsigned TrainingStep::rootsOf(Value value) const {
  if (Operation *def = value.getDefiningOp())
    return roots.lookup(def);
  auto role = getProgram().getArgAttrOfType<StringAttr>(cast<BlockArgument>(value).getArgNumber(), kRoleAttr);
  bool weight = role && (role.getValue() == "param" || role.getValue() == "frozen");
  return weight ? kWeights : kData;
}

Phase TrainingStep::phaseByOperands(Operation *op) {
  Phase phase = Phase::Free;
  unsigned &from = roots[op];
  for (Value operand : op->getOperands()) {
    from |= rootsOf(operand);
    Operation *def = operand.getDefiningOp();
    if (def && isGradient(phaseOf(def)))
      return op->hasAttr(kWeightGradientAttr) ? Phase::WeightGradient : Phase::Backward;
    if (def && phaseOf(def) == Phase::Forward)
      phase = Phase::Forward;
  }
  if (from == (kWeights | kData))
    phase = Phase::Forward;
  return phase == Phase::Forward && op->hasAttr(kOfAttr) ? Phase::Backward : phase;
}

LogicalResult TrainingStep::classify() {
  for (Operation &op : program.getBody().front().without_terminator()) {
    auto call = dyn_cast<CallOp>(op);
    BlockOp callee = call ? call.lookupBlock() : BlockOp();
    Phase byOperands = phaseByOperands(&op);
    if (isa<UpdateOp>(op)) {
      phases[&op] = Phase::Update;
    } else if (!call || callee->hasAttr(kSharedAttr)) {
      phases[&op] = byOperands;
    } else if (callee->hasAttr(kPrologueAttr)) {
      if (byOperands != Phase::Free)
        return call.emitOpError() << "of prologue block '" << call.getCallee() << "' depends on a microbatch's values; "
                                  << "only inputs and constants are known before the first microbatch";
      phases[&op] = Phase::Prologue;
    } else if (callee->hasAttr(kBackwardOfAttr)) {
      phases[&op] = Phase::Backward;
    } else if (callee->hasAttr(kWeightGradientOfAttr)) {
      phases[&op] = Phase::WeightGradient;
    } else {
      phases[&op] = Phase::Forward;
      forwardCalls.push_back(call);
    }
    isSplit |= phaseOf(&op) == Phase::WeightGradient;
  }
  return success();
}

/// True for one of the last results of a forward call, which are there for the backward call.
static bool isSaved(Value value) {
  auto call = value.getDefiningOp<CallOp>();
  auto saves = call.lookupBlock()->getAttrOfType<IntegerAttr>(kSavesAttr);
  unsigned number = cast<OpResult>(value).getResultNumber();
  return saves && number + saves.getInt() >= call.getNumResults();
}

FailureOr<CallOp> TrainingStep::findForward(CallOp backward, ArrayRef<CallOp> open) const {
  StringRef attribute = phaseOf(backward) == Phase::WeightGradient ? kWeightGradientOfAttr : kBackwardOfAttr;
  auto name = backward.lookupBlock()->getAttrOfType<FlatSymbolRefAttr>(attribute);
  if (!name)
    return backward.lookupBlock().emitOpError() << "has '" << attribute << "', which is no name of a block";
  if (Attribute of = backward->getAttr(kOfAttr))
    for (CallOp call : open)
      if (call->getAttr(kIdAttr) == of)
        return call;
  // A saved value says which call it is too; without numbers and saved values the last call that is still open does.
  for (Value operand : backward.getOperands())
    if (auto call = operand.getDefiningOp<CallOp>(); call && call.getCalleeAttr() == name && isSaved(operand))
      return call;
  for (CallOp call : llvm::reverse(open))
    if (call.getCalleeAttr() == name)
      return call;
  return backward.emitOpError() << "has no forward call of '" << name.getValue() << "' left to belong to";
}

LogicalResult TrainingStep::matchBackwardCalls() {
  SmallVector<CallOp> openBackward(forwardCalls), openWeightGradient(forwardCalls);
  for (CallOp call : program.getBody().getOps<CallOp>()) {
    bool ofWeights = call.lookupBlock()->hasAttr(kWeightGradientOfAttr);
    if (!ofWeights && !call.lookupBlock()->hasAttr(kBackwardOfAttr))
      continue;
    SmallVector<CallOp> &open = ofWeights ? openWeightGradient : openBackward;
    auto forward = findForward(call, open);
    if (failed(forward))
      return failure();
    forwards[call] = *forward;
    llvm::erase(open, *forward);
  }
  return success();
}

Value TrainingStep::source(Value value) const {
  auto result = dyn_cast<OpResult>(value);
  auto call = result ? dyn_cast<CallOp>(result.getOwner()) : CallOp();
  // A prologue sees whole batches and a free call is computed where it is needed: their results stay.
  if (!call || (phaseOf(call) != Phase::Forward && !isGradient(phaseOf(call))))
    return value;
  Value yielded = call.lookupBlock().getBody().front().getTerminator()->getOperand(result.getResultNumber());
  auto argument = dyn_cast<BlockArgument>(yielded);
  return argument ? source(call.getOperand(argument.getArgNumber())) : value;
}

LogicalResult TrainingStep::collectGradients() {
  SmallVector<unsigned> gradientResults;
  for (unsigned i = 0, e = program.getResultTypes().size(); i != e; ++i) {
    auto name = program.getResultAttrOfType<StringAttr>(i, kNameAttr);
    (name && name.getValue().starts_with(kGradientPrefix) ? gradientResults : results).push_back(i);
  }
  this->gradientResults.insert(gradientResults.begin(), gradientResults.end());
  bool updates = !program.getBody().getOps<UpdateOp>().empty();
  return updates ? pairByUpdate(gradientResults) : pairByOrder(gradientResults);
}

LogicalResult TrainingStep::pairByUpdate(ArrayRef<unsigned> gradientResults) {
  Operation *yield = program.getBody().front().getTerminator();
  for (UpdateOp update : program.getBody().getOps<UpdateOp>()) {
    auto parameter = dyn_cast<BlockArgument>(update.getParameter());
    if (!parameter)
      return update.emitOpError() << "updates a value that is no argument of the program";
    const unsigned *result =
        llvm::find_if(gradientResults, [&](unsigned i) { return yield->getOperand(i) == update.getGradient(); });
    if (result == gradientResults.end())
      return update.emitOpError() << "uses a gradient that is no result of the program, so its sharding is not known";
    gradients.push_back({parameter, update.getGradient(), *result, update});
  }
  return success();
}

LogicalResult TrainingStep::pairByOrder(ArrayRef<unsigned> gradientResults) {
  Operation *yield = program.getBody().front().getTerminator();
  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : program.getArguments()) {
    auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kRoleAttr);
    if (role && role.getValue() == "param")
      parameters.push_back(argument);
  }
  if (gradientResults.empty())
    return success();
  if (gradientResults.size() != parameters.size())
    return program.emitOpError() << "returns " << gradientResults.size() << " gradients for " << parameters.size()
                                 << " parameters";
  for (auto [parameter, result] : llvm::zip(parameters, gradientResults))
    gradients.push_back({parameter, yield->getOperand(result), result, UpdateOp()});
  return success();
}

void TrainingStep::findGradientSums() {
  SmallVector<Value> open;
  for (const ParameterGradient &entry : gradients)
    open.push_back(entry.gradient);
  while (!open.empty()) {
    auto add = open.pop_back_val().getDefiningOp<AddOp>();
    if (!add || phaseOf(add) != Phase::Backward || gradientSums.contains(add))
      continue;
    bool onlySummed = llvm::all_of(
        add->getUsers(), [&](Operation *user) { return isa<YieldOp, UpdateOp>(user) || gradientSums.contains(user); });
    if (!onlySummed)
      continue;
    gradientSums.insert(add);
    open.append({add.getLhs(), add.getRhs()});
  }
}

bool TrainingStep::isGradientResult(OpOperand &use) const {
  return isa<YieldOp>(use.getOwner()) && gradientResults.contains(use.getOperandNumber());
}

bool TrainingStep::feedsWeightGradientsAlone(Value value) const {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isGradientResult(use) || isa<UpdateOp>(user) || isGradientSum(user))
      return true;
    auto isOther = [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return operand != value && def && phaseOf(def) != Phase::Free && phaseOf(def) != Phase::Prologue;
    };
    return phaseOf(user) == Phase::Backward && !isa<CallOp>(user) && llvm::none_of(user->getOperands(), isOther) &&
           llvm::all_of(user->getResults(), [&](Value result) { return feedsWeightGradientsAlone(result); });
  });
}

SmallVector<Value> TrainingStep::contributions(Value gradient) const {
  SmallVector<Value> open{gradient}, found;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    auto add = value.getDefiningOp<AddOp>();
    if (add && isGradientSum(add))
      open.append({add.getRhs(), add.getLhs()});
    else
      found.push_back(value);
  }
  return found;
}
