// Rejects orders that cannot run; what makes them so is decided by the checker.
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/StageSchedule.h"

using namespace mlir;

namespace p3d {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "passes/Schedule/Passes.h.inc"

namespace {
/// C1, C2
LogicalResult verifyStage(pipe::StageOp stage) {
  if (!stage.getOrder() || !stage.getSlots())
    return stage.emitOpError() << "has no order; schedule it first";
  if (*stage.getSlots() < 1)
    return stage.emitOpError() << "has " << *stage.getSlots() << " slots, expected at least one";
  if (*stage.getOrder() != writeOrder(stage, readOrder(stage)))
    return stage.emitOpError() << "has order " << *stage.getOrder()
                               << ", expected P first, S and U last, each for a task of "
                               << "the stage, and between them actions such as F0 and B0";
  return success();
}

struct VerifySchedulePass : impl::VerifySchedulePassBase<VerifySchedulePass> {
  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
  }

  LogicalResult verify(ModuleOp module) {
    Schedule orders;
    Slots slots;
    for (pipe::StageOp stage : collectStages(module)) {
      if (failed(verifyStage(stage)))
        return failure();
      orders.push_back(readOrder(stage));
      slots.push_back({int64_t(*stage.getSlots())});
    }
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!mesh)
      return module.emitError() << "has no '" << dist::kMeshAttr << "'";
    // C3
    if (auto fault = ScheduleChecker(mesh.getPp(), mesh.getMb(), collectTransfers(module)).check(orders, slots))
      return module.emitError() << *fault;
    return success();
  }
};
} // namespace
} // namespace p3d
