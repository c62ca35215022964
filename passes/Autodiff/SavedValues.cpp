#include "passes/Autodiff/SavedValues.h"
#include "dialects/Graph/TensorBytes.h"
#include "passes/Autodiff/Sweep.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
int64_t bytesOf(Value value) { return graph::bytesOf(tensorType(value)); }

bool isView(Operation *op) { return isa<ReshapeOp, TransposeOp, SliceOp, BroadcastOp, ConvertOp>(op); }

/// Operations without sums: their cost is that of reading operands that the backward block reads anyway.
bool isCheap(Operation *op) {
  return op->hasTrait<Elementwise>() || isView(op) || isa<ConstantOp, IotaOp, PadOp, ConcatOp, ReverseOp>(op);
}

bool isRecomputable(Operation *op, Recompute policy) {
  switch (policy) {
  case Recompute::None:
    return isCheap(op);
  case Recompute::Selective:
    return isCheap(op) || isa<AttentionOp, LayerNormOp, RmsNormOp, SoftmaxOp, RopeOp>(op);
  case Recompute::Full:
    return true;
  }
  llvm_unreachable("a policy outside the enumeration");
}

/// Contractions and gradients of named operations read their operands as they were.
bool keepsOperands(Operation *op) {
  return isa<EinsumOp, LayerNormGradOp, RmsNormGradOp, SoftmaxGradOp, SoftmaxCrossEntropyGradOp, GeluGradOp, SiluGradOp,
             SwigluGradOp, AttentionGradOp>(op);
}

class Choice {
public:
  Choice(const Activity &activity, Recompute policy) : activity(activity), policy(policy) {}

  void request(Value value, bool keep);
  llvm::SetVector<Value> finish();

private:
  Value rootOf(Value value) const;
  using Known = DenseMap<Value, llvm::SetVector<Value>>;
  llvm::SetVector<Value> missing(Value value, Known &known) const;
  llvm::SetVector<Value> missing(Value value) const {
    Known known;
    return missing(value, known);
  }
  void dropRecomputable();

  const Activity &activity;
  Recompute policy;
  /// All that backward operations use; what is kept whatever else is; what is kept.
  llvm::SetVector<Value> requests, kept, saved;
};
} // namespace

/// What `value` is another view of, as long as that is no larger.
Value Choice::rootOf(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op) || saved.contains(value))
      break;
    Value operand = op->getOperand(0);
    if (!isa<BlockArgument>(operand) && bytesOf(operand) > bytesOf(value))
      break;
    value = operand;
  }
  return value;
}

/// What would have to be kept besides `saved` for `value` to be known: itself, or the operands of what computes it, whichever is smaller. Remembers
/// answers in `known`, as values are used many times.
llvm::SetVector<Value> Choice::missing(Value value, Known &known) const {
  Operation *op = value.getDefiningOp();
  if (!op || saved.contains(value))
    return {};
  if (auto found = known.find(value); found != known.end())
    return found->second;
  llvm::SetVector<Value> result;
  result.insert(value);
  if (isRecomputable(op, policy)) {
    llvm::SetVector<Value> operands;
    int64_t bytes = 0;
    for (Value operand : op->getOperands())
      operands.set_union(missing(operand, known));
    for (Value operand : operands)
      bytes += bytesOf(operand);
    bool isSmaller = isView(op) ? bytes <= bytesOf(value) : bytes < bytesOf(value);
    if (operands.empty() || policy == Recompute::Full || isSmaller)
      result = std::move(operands);
  }
  known[value] = result;
  return result;
}

void Choice::request(Value value, bool keep) {
  requests.insert(value);
  bool computed = !isRecomputable(value.getDefiningOp(), policy);
  if (!computed && !(keep && policy == Recompute::None))
    return;
  // What no parameter or no input goes into is a mask, a table or a converted weight, not an activation.
  Value root = rootOf(value);
  bool isActivation = activity.active.contains(root) && !activity.isWeight(root);
  if (isa<BlockArgument>(root) || !(computed || isActivation))
    return;
  kept.insert(root);
  saved.insert(root);
}

/// What was chosen first may follow from what was chosen later.
void Choice::dropRecomputable() {
  for (Value value : llvm::to_vector(saved)) {
    if (kept.contains(value))
      continue;
    saved.remove(value);
    if (!missing(value).empty())
      saved.insert(value);
  }
}

llvm::SetVector<Value> Choice::finish() {
  for (Value value : requests)
    saved.set_union(missing(value));
  dropRecomputable();
  SmallVector<Value> ordered(saved.begin(), saved.end());
  llvm::sort(ordered, [](Value a, Value b) {
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    return first == second ? cast<OpResult>(a).getResultNumber() < cast<OpResult>(b).getResultNumber()
                           : first->isBeforeInBlock(second);
  });
  return llvm::SetVector<Value>(ordered.begin(), ordered.end());
}

llvm::SetVector<Value> p3d::chooseSavedValues(Block &body, const Activity &activity, Recompute policy) {
  Choice choice(activity, policy);
  for (Operation &op : body.without_terminator()) {
    if (!isBackward(op))
      continue;
    for (Value operand : op.getOperands())
      if (Operation *source = operand.getDefiningOp(); source && !isBackward(*source))
        choice.request(operand, keepsOperands(&op));
  }
  return choice.finish();
}
