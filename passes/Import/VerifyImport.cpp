// What the import level promises.
#include "passes/Import/Dependence.h"
#include "passes/Import/Passes.h"

namespace p3d {
#define GEN_PASS_DEF_VERIFYIMPORT
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

LogicalResult verifyArguments(graph::ProgramOp program) {
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    for (StringRef name : {graph::kNameAttr, graph::kRoleAttr})
      if (!program.getArgAttrOfType<StringAttr>(i, name))
        return program.emitError() << "argument " << i << " has no '" << name << "'";
  return success();
}

/// What depends on parameters is in blocks; layers are numbered in order.
LogicalResult verifyBody(graph::ProgramOp program) {
  Dependence dependence(program);
  int64_t layer = 0;
  for (Operation &op : program.getBody().front().without_terminator()) {
    auto call = dyn_cast<graph::CallOp>(op);
    if (!call && dependsOnParameters(dependence.of(&op)))
      return op.emitOpError() << "depends on a parameter and stands outside of every block";
    if (call && call.getLayer() && int64_t(*call.getLayer()) != layer++)
      return call.emitOpError() << "is layer " << *call.getLayer() << ", expected " << layer - 1;
  }
  return success();
}

struct VerifyImportPass : p3d::impl::VerifyImportBase<VerifyImportPass> {
  void runOnOperation() override {
    auto programs = llvm::to_vector(getOperation().getOps<graph::ProgramOp>());
    if (programs.size() != 1) {
      getOperation().emitError() << "has " << programs.size() << " programs, expected one";
      return signalPassFailure();
    }
    WalkResult walk = getOperation().walk([](Operation *op) {
      if (isa<ModuleOp>(op) || isa<graph::GraphDialect>(op->getDialect()))
        return WalkResult::advance();
      op->emitOpError() << "is left after import";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted() || failed(verifyArguments(programs.front())) || failed(verifyBody(programs.front())))
      signalPassFailure();
  }
};

} // namespace
