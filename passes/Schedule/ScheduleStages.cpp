// Orders the tasks of every stage by a schedule of the table.
#include "passes/Schedule/Passes.h"
#include "dialects/Pipe/Lifetime.h"
#include "passes/Schedule/StageSchedule.h"
#include <limits>

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
    if (!entry)
      return module.emitError() << "schedule '" << schedule << "' is not known; expected one of " << getScheduleNames();
    SmallVector<pipe::StageOp> stages = collectStages(module);
    auto isWeightGradient = [](pipe::TaskOp task) { return task.getKind() == pipe::TaskKind::WeightGradient; };
    bool splits = llvm::any_of(stages, [&](pipe::StageOp stage) { return llvm::any_of(stage.getOps<pipe::TaskOp>(), isWeightGradient); });
    int64_t chunks = stages.empty() ? 1 : stages.front().getNumChunks();
    if (splits != entry->splitsBackward)
      return module.emitError() << "schedule '" << schedule << "' is for stages whose backward pass is " << (splits ? "whole" : "split")
                                << ", and that of these is " << (splits ? "split" : "whole") << "; cut them for this schedule";
    if (chunks > entry->mostChunks || (entry->mostChunks < std::numeric_limits<int64_t>::max() && chunks < entry->chunks))
      return module.emitError() << "schedule '" << schedule << "' is for stages of " << entry->chunks << " chunks, and these have " << chunks
                                << "; cut them for this schedule";
    Schedule orders = entry->make({int64_t(stages.size()), mesh.getMb(), chunks});
    Slots slots = countSlots(orders);
    if (auto fault = ScheduleChecker(stages.size(), mesh.getMb(), collectTransfers(module), chunks).check(orders, slots))
      return module.emitError() << "schedule '" << schedule << "' cannot run these stages: " << *fault;
    Slots backwardSlots = countSlots(orders, Action::Forward, Action::Backward), weightSlots = countSlots(orders, Action::Backward, Action::WeightGradient);
    for (auto [index, stage] : llvm::enumerate(stages)) {
      stage.setOrderAttr(writeOrder(stage, orders[index]));
      stage.setSlots(slots[index]);
      if (splits) {
        stage.setWeightSlots(weightSlots[index]);
        stage->setAttr(pipe::kBackwardSlotsAttr, DenseI64ArrayAttr::get(module.getContext(), backwardSlots[index]));
      }
    }
    return success();
  }
};
} // namespace
} // namespace p3d
