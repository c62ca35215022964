#include "passes/Import/BlockBody.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

class BodyCollector {
public:
  BodyCollector(const Dependence &dependence, const LayerPlan &plan, const Placement &placement, size_t part)
      : dependence(dependence), plan(plan), placement(placement), part(part) {}

  BlockBody collect(graph::ProgramOp program) {
    auto [begin, end, isLayer] = plan.parts[part];
    auto own = ArrayRef(plan.chain).slice(begin, end - begin);
    BlockBody body{own.front()->getLoc(), {}, {}, {}, {}};
    for (Operation *op : own)
      add(op);
    bool isLastPart = part + 1 == plan.parts.size();
    if (isLastPart)
      addParameterResults(program);
    for (Operation *op : own)
      for (Value result : op->getResults())
        if (isNeededOutside(result))
          outputs.push_back(result);
    for (Value output : outputs)
      key.push_back(asKey(numbers.lookup(output)));
    body.ops = std::move(ops);
    body.outputs = std::move(outputs);
    body.key = std::move(key);
    for (Source kind : {Source::Active, Source::Parameter, Source::Input, Source::Constant})
      for (auto [input, source] : inputs)
        if (source == kind)
          body.inputs.insert(input);
    return body;
  }

private:
  static const void *asKey(size_t number) { return reinterpret_cast<const void *>(number); }

  /// Results of the program that depend on parameters alone (the norm of the weights) are computed with the last part.
  void addParameterResults(graph::ProgramOp program) {
    for (Value value : program.getBody().front().getTerminator()->getOperands())
      if (value.getDefiningOp() && dependence.of(value) == Source::Parameter && !llvm::is_contained(outputs, value)) {
        visit(value);
        outputs.push_back(value);
      }
  }

  /// Whether an operation beside the chain is computed in this block.
  bool isInside(Operation *op) const {
    std::optional<size_t> home = placement.partOf(op);
    return home ? *home == part : placement.isInside(op);
  }

  void visit(Value value) {
    if (numbers.count(value))
      return;
    if (Operation *def = value.getDefiningOp(); def && isInside(def))
      return add(def);
    addInput(value, dependence.of(value));
  }

  void add(Operation *op) {
    if (op->getNumResults() && numbers.count(op->getResult(0)))
      return;
    for (Value operand : op->getOperands()) {
      // The start of a sum over layers: an argument, so that the first layer is like the others.
      if (isCarriedSum(op, dependence) && placement.partOf(op) && operand.getDefiningOp<graph::ConstantOp>() && !numbers.count(operand))
        addInput(operand, Source::Active);
      else
        visit(operand);
    }
    key.push_back(op->getName().getAsOpaquePointer());
    key.push_back(op->getAttrDictionary().getAsOpaquePointer());
    for (Value operand : op->getOperands())
      key.push_back(asKey(numbers.lookup(operand)));
    for (Value result : op->getResults()) {
      numbers[result] = numbers.size();
      key.push_back(result.getType().getAsOpaquePointer());
    }
    ops.push_back(op);
  }

  void addInput(Value value, Source source) {
    numbers[value] = numbers.size();
    inputs.push_back({value, source});
    key.push_back(value.getType().getAsOpaquePointer());
    key.push_back(asKey(unsigned(source)));
  }

  bool isNeededOutside(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      std::optional<size_t> home = placement.partOf(user);
      return !home || *home != part;
    });
  }

  const Dependence &dependence;
  const LayerPlan &plan;
  const Placement &placement;
  size_t part;
  DenseMap<Value, size_t> numbers;
  SmallVector<Operation *> ops;
  SmallVector<std::pair<Value, Source>> inputs;
  SmallVector<Value> outputs;
  SmallVector<const void *> key;
};

} // namespace

BlockBody p3d::import::collectBody(graph::ProgramOp program, const Dependence &dependence, const LayerPlan &plan, const Placement &placement,
                                   size_t part) {
  return BodyCollector(dependence, plan, placement, part).collect(program);
}
