// Between the schedule as data and as attributes of the stages.
#include "passes/Schedule/StageSchedule.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;

SmallVector<StageOp> p3d::collectStages(ModuleOp module) {
  SmallVector<StageOp> stages(module.getOps<StageOp>());
  llvm::sort(stages, [](StageOp a, StageOp b) { return a.getIndex() < b.getIndex(); });
  return stages;
}

std::vector<Transfer> p3d::collectTransfers(ModuleOp module) {
  std::vector<Transfer> transfers;
  module.walk([&](SendOp send) {
    bool forward = send->getParentOfType<TaskOp>().getKind() == TaskKind::Forward;
    transfers.push_back({int64_t(send->getParentOfType<StageOp>().getIndex()), int64_t(send.getStage()),
                         forward ? Action::Forward : Action::Backward});
  });
  return transfers;
}

StageOrder p3d::readOrder(StageOp stage) {
  StageOrder order;
  for (Attribute entry : stage.getOrder().value_or(ArrayAttr::get(stage.getContext(), {})))
    if (auto text = dyn_cast<StringAttr>(entry))
      if (auto action = parseAction(text.getValue()))
        order.push_back(*action);
  return order;
}

ArrayAttr p3d::writeOrder(StageOp stage, const StageOrder &order) {
  SmallVector<std::string> texts;
  if (stage.getTask(TaskKind::Prologue))
    texts.push_back(kPrologueAction.str());
  for (Action action : order)
    texts.push_back(toString(action));
  if (stage.getTask(TaskKind::Synchronize))
    texts.push_back(kSynchronizeAction.str());
  if (stage.getTask(TaskKind::Update))
    texts.push_back(kUpdateAction.str());
  SmallVector<Attribute> entries;
  for (const std::string &text : texts)
    entries.push_back(StringAttr::get(stage.getContext(), text));
  return ArrayAttr::get(stage.getContext(), entries);
}
