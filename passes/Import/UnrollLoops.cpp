// Unrolls counted loops. Integer scalars are followed through the iterations, so that the condition and the indices that the counter
// gives become constants; whatever else the body computes is cloned.
#include "passes/Import/Constants.h"
#include "passes/Import/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace p3d {
#define GEN_PASS_DEF_UNROLLLOOPS
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;

namespace {

/// Clones operations one by one, replacing those whose integer value is known by constants.
class FoldingCloner {
public:
  FoldingCloner(OpBuilder &builder, IRMapping &mapping) : builder(builder), mapping(mapping) {}

  Operation *clone(Operation &op) {
    SmallVector<Attribute, 3> operands;
    if (op.getNumOperands() <= 3)
      for (Value operand : op.getOperands())
        operands.push_back(constantOf(mapping.lookupOrDefault(operand)));
    ElementsAttr folded = foldInteger(&op, operands);
    if (!folded)
      return builder.clone(op, mapping);
    auto constant = builder.create<stablehlo::ConstantOp>(op.getLoc(), folded.getType(), folded);
    mapping.map(op.getResult(0), constant.getOutput());
    return constant;
  }

private:
  static Attribute constantOf(Value value) {
    Attribute attribute;
    matchPattern(value, m_Constant(&attribute));
    return attribute;
  }

  OpBuilder &builder;
  IRMapping &mapping;
};

/// Clones the body of `block` at the builder with `arguments` for its arguments; returns the values that it yields.
SmallVector<Value> cloneBlock(Block &block, ValueRange arguments, OpBuilder &builder, SmallVectorImpl<Operation *> &nested) {
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  FoldingCloner cloner(builder, mapping);
  for (Operation &op : block.without_terminator()) {
    Operation *clone = cloner.clone(op);
    if (clone->getNumRegions())
      nested.push_back(clone);
  }
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

/// The integers among `values`, as constants at the builder where they follow from others.
void foldIntegers(MutableArrayRef<Value> values, OpBuilder &builder) {
  for (Value &value : values) {
    if (value.getDefiningOp<stablehlo::ConstantOp>())
      continue;
    if (std::optional<APInt> known = evaluateInteger(value)) {
      auto attribute = DenseElementsAttr::get(cast<ShapedType>(value.getType()), *known);
      value = builder.create<stablehlo::ConstantOp>(value.getLoc(), attribute.getType(), attribute);
    }
  }
}

class Unroller {
public:
  explicit Unroller(int64_t maxTrips) : maxTrips(maxTrips) {}

  LogicalResult run(Operation *root) {
    root->walk<WalkOrder::PreOrder>([&](Operation *op) { return enqueue(op) ? WalkResult::skip() : WalkResult::advance(); });
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val();
      LogicalResult done = isa<stablehlo::WhileOp>(op) ? unroll(cast<stablehlo::WhileOp>(op)) : choose(op);
      if (failed(done))
        return failure();
    }
    return success();
  }

private:
  bool enqueue(Operation *op) {
    if (!isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
      return false;
    pending.push_back(op);
    return true;
  }

  LogicalResult unroll(stablehlo::WhileOp loop) {
    OpBuilder builder(loop);
    SmallVector<Value> carried(loop->getOperands());
    SmallVector<Operation *> nested;
    foldIntegers(carried, builder);
    for (int64_t trip = 0;; ++trip) {
      std::optional<APInt> goesOn = condition(loop, carried);
      if (!goesOn)
        return loop.emitOpError() << "has a trip count that does not follow from constants" << atTrip(trip)
                                  << "; export the loop with a fixed number of iterations";
      if (goesOn->isZero())
        break;
      if (trip == maxTrips)
        return loop.emitOpError() << "runs for more than " << maxTrips << " iterations; export fewer, or raise the option max-trips of p3d-unroll-loops";
      carried = cloneBlock(loop.getBody().front(), carried, builder, nested);
    }
    return replace(loop, carried, nested);
  }

  static std::string atTrip(int64_t trip) { return trip ? " after " + std::to_string(trip) + " iterations" : ""; }

  /// The condition for these carried values; what it computes is thrown away.
  std::optional<APInt> condition(stablehlo::WhileOp loop, ArrayRef<Value> carried) {
    Block scratch;
    OpBuilder builder(loop.getContext());
    builder.setInsertionPointToEnd(&scratch);
    SmallVector<Operation *> nested;
    SmallVector<Value> yielded = cloneBlock(loop.getCond().front(), carried, builder, nested);
    std::optional<APInt> value = evaluateInteger(yielded.front());
    while (!scratch.empty())
      scratch.back().erase();
    return value;
  }

  /// A `case` or an `if` whose predicate is known becomes the branch that it chooses.
  LogicalResult choose(Operation *op) {
    std::optional<APInt> predicate = evaluateInteger(op->getOperand(0));
    if (!predicate)
      return op->emitOpError() << "branches on a value that is known at run time only; compute both sides and select";
    int64_t branch = isa<stablehlo::IfOp>(op) ? predicate->isZero() : predicate->getSExtValue();
    if (branch < 0 || branch >= int64_t(op->getNumRegions()))
      branch = op->getNumRegions() - 1;
    OpBuilder builder(op);
    SmallVector<Operation *> nested;
    SmallVector<Value> yielded = cloneBlock(op->getRegion(branch).front(), {}, builder, nested);
    return replace(op, yielded, nested);
  }

  LogicalResult replace(Operation *op, ArrayRef<Value> values, ArrayRef<Operation *> nested) {
    op->replaceAllUsesWith(values);
    op->erase();
    for (Operation *clone : nested)
      enqueue(clone);
    return success();
  }

  int64_t maxTrips;
  SmallVector<Operation *> pending;
};

struct UnrollLoopsPass : p3d::impl::UnrollLoopsBase<UnrollLoopsPass> {
  using UnrollLoopsBase::UnrollLoopsBase;
  void runOnOperation() override {
    if (failed(Unroller(maxTrips).run(getOperation())))
      signalPassFailure();
  }
};

} // namespace
