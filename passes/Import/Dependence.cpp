#include "passes/Import/Dependence.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {
Source sourceOfRole(StringRef role) {
  if (role == "param" || role == "frozen")
    return Source::Parameter;
  return role == "buffer" ? Source::Constant : Source::Input;
}
} // namespace

Dependence::Dependence(graph::ProgramOp program) {
  for (BlockArgument argument : program.getBody().getArguments()) {
    auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
    sources[argument] = sourceOfRole(role ? role.getValue() : "");
  }
  for (Operation &op : program.getBody().front()) {
    Source source = Source::Constant;
    for (Value operand : op.getOperands())
      source = source | of(operand);
    for (Value result : op.getResults())
      sources[result] = source;
    if (sumsBatch(&op))
      batchSums.insert(op.getResult(0));
  }
}

bool Dependence::sumsBatch(Operation *op) const {
  if (op->getNumResults() != 1 || graph::tensorType(op->getResult(0)).getRank() != 1 || of(op) != Source::Active)
    return false;
  if (auto reduce = dyn_cast<graph::ReduceOp>(op))
    return llvm::is_contained(reduce.getDims(), 0);
  return op->hasTrait<graph::Elementwise>() &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return of(operand) == Source::Constant || isBatchSum(operand); });
}
