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
  ArrayRef<int64_t> slots = *stage.getSlots();
  if (int64_t(slots.size()) != stage.getNumChunks())
    return stage.emitOpError() << "has slots for " << slots.size() << " chunks, expected " << stage.getNumChunks();
  for (int64_t count : slots)
    if (count < 1)
      return stage.emitOpError() << "has " << count << " slots, expected at least one";
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
      slots.push_back(stage.getSlots()->vec());
    }
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!mesh)
      return module.emitError() << "has no '" << dist::kMeshAttr << "'";
    // C3
    int64_t chunks = slots.empty() ? 1 : slots.front().size();
    ScheduleChecker checker(mesh.getPp(), mesh.getMb(), collectTransfers(module), chunks);
    if (auto fault = checker.check(orders, slots))
      return module.emitError() << *fault;
    return success();
  }
};
} // namespace
} // namespace p3d
