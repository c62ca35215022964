// A joint body, forward operations followed by backward ones, is built first; the cut between them decides what is saved.
#include "passes/Support/Flops.h"
#include "passes/Autodiff/SplitBlock.h"
#include "passes/Autodiff/Sweep.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
class BlockDifferentiator {
public:
  BlockDifferentiator(BlockOp block, const Activity &activity, Recompute policy)
      : block(block), activity(activity), policy(policy), builder(block), numArguments(block.getNumArguments()),
        numResults(block.getNumResults()) {}

  FailureOr<BlockGradient> run();

private:
  void copyForward();
  LogicalResult buildJoint();
  void collectArguments(Value value, llvm::DenseSet<Value> &visited, llvm::SetVector<unsigned> &needed);
  SmallVector<Value> backwardArguments();
  Value inBackward(Value value);
  void makeBackward();
  void markRecomputed();
  void trimForward();

  Block &joint() { return result.forward.getBody().front(); }
  ValueRange argumentGradients() { return joint().getTerminator()->getOperands().drop_front(numResults); }

  BlockOp block;
  Activity activity;
  Recompute policy;
  OpBuilder builder;
  unsigned numArguments, numResults;
  BlockGradient result;
  llvm::SetVector<Value> saved;
  IRMapping backward;
};
} // namespace

/// `activity` then speaks of the values of the copy.
void BlockDifferentiator::copyForward() {
  IRMapping copies;
  result.forward = cast<BlockOp>(builder.clone(*block, copies));
  result.forward.setName((block.getName() + ".fwd").str());
  for (auto [from, to] : copies.getValueMap())
    activity.replace(from, to);
  numberOperations(joint());
}

/// Appends gradients of results to the arguments, the backward operations, and gradients of arguments to what is yielded.
LogicalResult BlockDifferentiator::buildJoint() {
  Gradients gradients(builder, [&](Value value) { return activity.wanted.contains(value); });
  Operation *yield = joint().getTerminator();
  builder.setInsertionPoint(yield);
  for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
    if (!activity.isResultWanted(block, index))
      continue;
    result.results.push_back(index);
    gradients.add(value, joint().addArgument(value.getType(), block.getLoc()));
  }
  auto refuse = [](CallOp, ResultGradients, Gradients &) { return failure(); };
  if (failed(sweepBackward(joint(), gradients, refuse)))
    return failure();
  for (BlockArgument argument : joint().getArguments().take_front(numArguments)) {
    if (!gradients.of(argument))
      continue;
    result.arguments.push_back(argument.getArgNumber());
    yield->insertOperands(yield->getNumOperands(), gradients.of(argument));
  }
  eraseUnusedBackward(joint());
  markGradRoles(joint(), gradients, activity);
  return success();
}

/// Adds the arguments from which `value` is computed again, unless it was `visited`.
void BlockDifferentiator::collectArguments(Value value, llvm::DenseSet<Value> &visited, llvm::SetVector<unsigned> &needed) {
  if (saved.contains(value) || !visited.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getArgNumber() < numArguments)
      needed.insert(argument.getArgNumber());
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    collectArguments(operand, visited, needed);
}

/// `value` in the backward block, computed again there unless it is an argument or saved.
Value BlockDifferentiator::inBackward(Value value) {
  if (Value known = backward.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    inBackward(operand);
  Operation *copy = builder.clone(*op, backward);
  bool isRecomputed = copy->hasAttr(kIdAttr);
  if (Attribute id = copy->removeAttr(kIdAttr))
    copy->setAttr(kOfAttr, id);
  // What counts the work of the model leaves it out.
  if (isRecomputed && isa<EinsumOp, AttentionOp>(copy))
    copy->setAttr(kRecomputedAttr, builder.getUnitAttr());
  return backward.lookup(value);
}

/// The arguments of the backward block, in the order of its definition.
SmallVector<Value> BlockDifferentiator::backwardArguments() {
  llvm::SetVector<unsigned> needed;
  llvm::DenseSet<Value> visited;
  for (Operation &op : joint().without_terminator())
    if (isBackward(op))
      for (Value operand : op.getOperands())
        collectArguments(operand, visited, needed);
  result.neededArguments = needed.takeVector();
  llvm::sort(result.neededArguments);
  SmallVector<Value> arguments(joint().getArguments().drop_front(numArguments));
  for (unsigned index : result.neededArguments)
    arguments.push_back(joint().getArgument(index));
  llvm::append_range(arguments, saved);
  return arguments;
}

void BlockDifferentiator::makeBackward() {
  SmallVector<Value> arguments = backwardArguments();
  auto type = builder.getFunctionType(TypeRange(ValueRange(arguments)), argumentGradients().getTypes());
  builder.setInsertionPointAfter(result.forward);
  result.backward = builder.create<BlockOp>(block.getLoc(), (block.getName() + ".bwd").str(), type);
  result.backward->setAttr(kBackwardOfAttr, FlatSymbolRefAttr::get(result.forward.getSymNameAttr()));
  for (auto [index, argument] : llvm::enumerate(result.neededArguments))
    result.backward.setArgAttrs(result.results.size() + index, block.getArgAttrDict(argument));
  backward.map(arguments, result.backward.getArguments());
  builder.setInsertionPointToStart(&result.backward.getBody().front());
  for (Operation &op : joint().without_terminator())
    if (isBackward(op))
      for (Value value : op.getResults())
        inBackward(value);
  SmallVector<Value> yielded = llvm::map_to_vector(argumentGradients(), [&](Value v) { return inBackward(v); });
  builder.create<YieldOp>(block.getLoc(), yielded);
  markRecomputed();
}

/// Operations that are computed again feed what their users feed.
void BlockDifferentiator::markRecomputed() {
  for (Operation &op : llvm::reverse(result.backward.getBody().front().without_terminator())) {
    if (op.hasAttr(kGradRoleAttr))
      continue;
    bool feedsInput = llvm::any_of(op.getUsers(), [](Operation *user) {
      auto role = user->getAttrOfType<StringAttr>(kGradRoleAttr);
      return role && role.getValue() == "input_grad";
    });
    op.setAttr(kGradRoleAttr, builder.getStringAttr(feedsInput ? "input_grad" : "weight_grad"));
  }
}

/// The joint body without its backward part, which yields the saved values after its results.
void BlockDifferentiator::trimForward() {
  Operation *yield = joint().getTerminator();
  yield->setOperands(numResults, yield->getNumOperands() - numResults, saved.getArrayRef());
  for (Operation *op : backwardOperations(joint()))
    op->erase();
  joint().eraseArguments(numArguments, joint().getNumArguments() - numArguments);
  SmallVector<DictionaryAttr> attributes;
  result.forward.getAllResultAttrs(attributes);
  attributes.resize(yield->getNumOperands(), builder.getDictionaryAttr({}));
  result.forward.removeResAttrsAttr();
  result.forward.setType(builder.getFunctionType(joint().getArgumentTypes(), yield->getOperandTypes()));
  result.forward.setAllResultAttrs(attributes);
  result.forward->setAttr(kSavesAttr, builder.getI64IntegerAttr(saved.size()));
}

FailureOr<BlockGradient> BlockDifferentiator::run() {
  copyForward();
  if (failed(buildJoint()))
    return failure();
  saved = chooseSavedValues(joint(), activity, policy);
  if (!result.arguments.empty())
    makeBackward();
  trimForward();
  return result;
}

FailureOr<BlockGradient> p3d::differentiateBlock(BlockOp block, const Activity &activity, Recompute policy) {
  return BlockDifferentiator(block, activity, policy).run();
}
