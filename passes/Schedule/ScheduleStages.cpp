// Orders the tasks of every stage by a schedule of the table, or as it is written.
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/ScheduleText.h"
#include "passes/Schedule/StageSchedule.h"
#include <algorithm>
#include <limits>

using namespace mlir;

namespace p3d {
#define GEN_PASS_DEF_SCHEDULESTAGESPASS
#include "passes/Schedule/Passes.h.inc"

namespace {
struct ScheduleStagesPass : impl::ScheduleStagesPassBase<ScheduleStagesPass> {
  using ScheduleStagesPassBase::ScheduleStagesPassBase;

  std::function<ScheduleCosts(ModuleOp)> costsOf;

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

  LogicalResult run(ModuleOp module) {
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    if (!mesh)
      return module.emitError() << "has no '" << dist::kMeshAttr << "'";
    SmallVector<pipe::StageOp> stages = collectStages(module);
    int64_t chunks = stages.empty() ? 1 : stages.front().getNumChunks();
    FailureOr<Schedule> made = orders.empty() ? makeNamed(module, {int64_t(stages.size()), mesh.getMb(), chunks}) : readOrders(module);
    if (failed(made))
      return failure();
    bool splits = llvm::any_of(stages, [](pipe::StageOp stage) { return llvm::any_of(stage.getOps<pipe::TaskOp>(), isWeightGradient); });
    if (splits != splitsBackward(*made))
      return module.emitError() << "schedule '" << schedule << "' is for stages whose backward pass is " << (splits ? "whole" : "split")
                                << ", and that of these is " << (splits ? "split" : "whole") << "; cut them for this schedule";
    Slots slots = countSlots(*made);
    if (auto fault = ScheduleChecker(stages.size(), mesh.getMb(), collectTransfers(module), chunks).check(*made, slots))
      return module.emitError() << "schedule '" << schedule << "' cannot run these stages: " << *fault;
    for (auto [index, stage] : llvm::enumerate(stages)) {
      stage.setOrderAttr(writeOrder(stage, (*made)[index]));
      stage.setSlots(slots[index]);
    }
    return success();
  }

  static bool isWeightGradient(pipe::TaskOp task) { return task.getKind() == pipe::TaskKind::WeightGradient; }

  /// The schedule of the table, for stages that were cut for it.
  FailureOr<Schedule> makeNamed(ModuleOp module, ScheduleSize size) {
    const NamedSchedule *entry = findSchedule(schedule);
    if (!entry)
      return module.emitError() << "schedule '" << schedule << "' is not known; expected one of " << getScheduleNames();
    if (size.chunks > entry->mostChunks || (entry->mostChunks < std::numeric_limits<int64_t>::max() && size.chunks < entry->chunks))
      return module.emitError() << "schedule '" << schedule << "' is for stages of " << entry->chunks << " chunks, and these have " << size.chunks
                                << "; cut them for this schedule";
    size.live = live;
    // Times are costly to tell, and one searches with them.
    if (entry->make == makeAuto && costsOf)
      size.costs = costsOf(module);
    return entry->make(size);
  }

  FailureOr<Schedule> readOrders(ModuleOp module) {
    std::string lines = orders, fault;
    std::replace(lines.begin(), lines.end(), ';', '\n');
    auto read = parseSchedule(lines, [&](StringRef, const Twine &found) { fault = found.str(); });
    if (!read)
      return module.emitError() << "option 'orders': " << fault;
    return std::move(*read);
  }
};
} // namespace

std::unique_ptr<Pass> createScheduleStagesPass(ScheduleStagesPassOptions options, std::function<ScheduleCosts(ModuleOp)> costsOf) {
  auto pass = std::make_unique<ScheduleStagesPass>(std::move(options));
  pass->costsOf = std::move(costsOf);
  return pass;
}
} // namespace p3d
