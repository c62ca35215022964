// Cuts the training step into the stages of a pipeline.
#include "passes/Stage/Passes.h"
#include "passes/Stage/StageBuilder.h"

using namespace mlir;

namespace p3d {
#define GEN_PASS_DEF_CUTSTAGESPASS
#include "passes/Stage/Passes.h.inc"

namespace {
/// The only program of `module`; null after an error.
graph::ProgramOp findProgram(ModuleOp module) {
  auto programs = module.getOps<graph::ProgramOp>();
  if (llvm::hasSingleElement(programs))
    return *programs.begin();
  module.emitError() << "has " << std::distance(programs.begin(), programs.end()) << " graph.program ops, expected one";
  return {};
}

struct CutStagesPass : impl::CutStagesPassBase<CutStagesPass> {
  using CutStagesPassBase::CutStagesPassBase;

  void runOnOperation() override {
    graph::ProgramOp program = findProgram(getOperation());
    if (!program || failed(cut(program)))
      signalPassFailure();
  }

  LogicalResult cut(graph::ProgramOp program) {
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!mesh)
      return getOperation().emitError() << "has no '" << dist::kMeshAttr << "'; partition it first";
    auto step = TrainingStep::analyze(program);
    if (failed(step))
      return failure();
    auto plan = StagePlan::make(*step, {mesh.getPp(), chunks, turns ? Placement::Vee : Placement::Loop}, stages);
    if (failed(plan) || failed(StageBuilder(*step, *plan, mesh).build()))
      return failure();
    program.erase();
    return success();
  }
};
} // namespace
} // namespace p3d
