// Orders the tasks of every stage by a schedule of the table.
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/StageSchedule.h"

using namespace mlir;

namespace p3d {
#define GEN_PASS_DEF_SCHEDULESTAGESPASS
#include "passes/Schedule/Passes.h.inc"

namespace {
struct ScheduleStagesPass : impl::ScheduleStagesPassBase<ScheduleStagesPass> {
  using ScheduleStagesPassBase::ScheduleStagesPassBase;

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

  LogicalResult run(ModuleOp module) {
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!mesh)
      return module.emitError() << "has no '" << dist::kMeshAttr << "'";
    const NamedSchedule *entry = findSchedule(schedule);
    if (entry && (entry->splitsBackward || entry->chunks > 1))
      return module.emitError() << "schedule '" << schedule << "' needs stages whose backward is split or that are "
                                << "cut into chunks; use 1f1b or gpipe";
    if (!entry)
      return module.emitError() << "schedule '" << schedule << "' is not known; expected one of " << getScheduleNames();
    SmallVector<pipe::StageOp> stages = collectStages(module);
    Schedule orders = entry->make({int64_t(stages.size()), mesh.getMb()});
    Slots slots = countSlots(orders);
    if (auto fault = ScheduleChecker(stages.size(), mesh.getMb(), collectTransfers(module)).check(orders, slots))
      return module.emitError() << "schedule '" << schedule << "' cannot run these stages: " << *fault;
    Builder builder(module.getContext());
    for (auto [stage, order, count] : llvm::zip(stages, orders, slots)) {
      stage.setOrderAttr(writeOrder(stage, order));
      stage.setSlotsAttr(builder.getI64IntegerAttr(count.front()));
    }
    return success();
  }
};
} // namespace
} // namespace p3d
