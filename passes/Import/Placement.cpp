#include "passes/Import/Placement.h"
#include "dialects/Graph/EinsumSpec.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// Which parts use a value: none, one, or several (the program's results count as another part).
struct Users {
  static constexpr size_t kNone = ~size_t(0), kSeveral = ~size_t(0) - 1;
  size_t part = kNone;
  void add(size_t other) { part = part == kNone || part == other ? other : kSeveral; }
};

/// Cheap operations that make large tensors of small ones: computed anew wherever they are used.
bool isRepeatable(Operation *op) {
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return constant.getValue().isSplat();
  return isa<graph::BroadcastOp, graph::IotaOp>(op);
}

/// Whether `op` combines elements of different positions in the first dimension of an operand.
bool reducesFirstDim(Operation *op) {
  if (auto reduce = dyn_cast<graph::ReduceOp>(op))
    return llvm::is_contained(reduce.getDims(), 0);
  if (auto einsum = dyn_cast<graph::EinsumOp>(op)) {
    auto spec = graph::EinsumSpec::parse(einsum.getSpec());
    return (!spec->lhs.empty() && !graph::EinsumSpec::has(spec->result, spec->lhs[0])) ||
           (!spec->rhs.empty() && !graph::EinsumSpec::has(spec->result, spec->rhs[0]));
  }
  return false;
}

} // namespace

Placement::Placement(graph::ProgramOp program, const Dependence &dependence, const LayerPlan &plan) {
  for (auto [index, part] : llvm::enumerate(plan.parts))
    for (Operation *op : ArrayRef(plan.chain).slice(part.begin, part.end - part.begin))
      parts[op] = index;

  // Sums over the batch of what no parameter changes, and the scalars that follow from them, are complete before the first microbatch.
  Block &body = program.getBody().front();
  for (Operation &op : body.without_terminator()) {
    Source source = dependence.of(&op);
    if (dependsOnParameters(source) || !dependsOnInputs(source))
      continue;
    bool follows = graph::tensorType(op.getResult(0)).getRank() == 0 && llvm::any_of(op.getOperands(), [&](Value operand) {
                     return operand.getDefiningOp() && topLevel.contains(operand.getDefiningOp());
                   });
    if (reducesFirstDim(&op) || follows)
      topLevel.insert(&op);
  }

  DenseMap<Operation *, Users> users;
  for (Operation &op : llvm::reverse(body)) {
    Users mine;
    if (std::optional<size_t> part = partOf(&op)) {
      mine.part = *part;
    } else if (isa<graph::YieldOp>(op)) {
      mine.part = Users::kSeveral;
    } else {
      mine = users.lookup(&op);
      bool shared = mine.part == Users::kSeveral && !isRepeatable(&op) && !dependsOnParameters(dependence.of(&op));
      if (shared)
        topLevel.insert(&op);
      if (topLevel.contains(&op))
        mine.part = Users::kSeveral;
    }
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp())
        users[def].add(mine.part);
  }
  // Operands of what stays at the top level stay there too.
  for (Operation &op : llvm::reverse(body))
    if (topLevel.contains(&op) || isa<graph::YieldOp>(op))
      for (Value operand : op.getOperands())
        if (Operation *def = operand.getDefiningOp(); def && !dependsOnParameters(dependence.of(def)) && !isRepeatable(def))
          topLevel.insert(def);
}
