#include "passes/Autodiff/Sweep.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

void p3d::numberOperations(Block &body) {
  Builder builder(body.getParentOp()->getContext());
  for (auto [id, op] : llvm::enumerate(body.without_terminator()))
    op.setAttr(kIdAttr, builder.getI64IntegerAttr(id));
}

namespace {
LogicalResult applyRule(Operation *op, ResultGradients d, Gradients &gradients) {
  const RuleTable::Entry *entry = getRules().lookup(op->getName().getTypeID());
  if (!entry)
    return op->emitOpError() << "has no reverse rule; write it with operations that have one";
  switch (entry->kind) {
  case RuleTable::Kind::Passes:
    return entry->rule(op, d, gradients);
  case RuleTable::Kind::Stops:
    return success();
  case RuleTable::Kind::Refused:
    return op->emitOpError() << "cannot be differentiated: it belongs to a backward pass or a partitioned program";
  }
  llvm_unreachable("a kind outside the enumeration");
}
} // namespace

LogicalResult p3d::sweepBackward(Block &body, Gradients &gradients, CallRule callRule) {
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    if (!isBackward(op))
      forward.push_back(&op);
  gradients.builder.setInsertionPoint(body.getTerminator());
  for (Operation *op : llvm::reverse(forward)) {
    SmallVector<Value> d = llvm::map_to_vector(op->getResults(), [&](Value v) { return gradients.of(v); });
    bool reached = llvm::any_of(d, [](Value v) { return bool(v); });
    if (!reached || llvm::none_of(op->getOperands(), [&](Value v) { return gradients.wants(v); }))
      continue;
    gradients.setLocation(op->getLoc());
    Operation *last = body.getTerminator()->getPrevNode();
    auto call = dyn_cast<CallOp>(op);
    if (failed(call ? callRule(call, d, gradients) : applyRule(op, d, gradients)))
      return failure();
    for (Operation *made = last->getNextNode(); made != body.getTerminator(); made = made->getNextNode())
      made->setAttr(kOfAttr, op->getAttr(kIdAttr));
  }
  return success();
}

SmallVector<Operation *> p3d::backwardOperations(Block &body) {
  SmallVector<Operation *> found;
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (isBackward(op))
      found.push_back(&op);
  return found;
}

void p3d::eraseUnusedBackward(Block &body) {
  for (Operation *op : backwardOperations(body))
    if (op->use_empty())
      op->erase();
}

void p3d::markGradRoles(Block &body, const Gradients &gradients, const Activity &activity) {
  llvm::DenseSet<Value> inputGradients;
  for (auto [value, gradient] : gradients.parts)
    if (!activity.isWeight(value))
      inputGradients.insert(gradient);
  Builder builder(body.getParentOp()->getContext());
  for (Operation *op : backwardOperations(body)) {
    bool feedsInput = llvm::any_of(op->getResults(), [&](Value v) { return inputGradients.contains(v); });
    op->setAttr(kGradRoleAttr, builder.getStringAttr(feedsInput ? "input_grad" : "weight_grad"));
    if (feedsInput)
      inputGradients.insert(op->operand_begin(), op->operand_end());
  }
}
