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
  }
}
