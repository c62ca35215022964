// Between the schedule as data and as attributes of the stages.
#include "passes/Schedule/StageSchedule.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

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
  auto kindOf = [](TaskOp task) { return task.getKind() == TaskKind::Forward ? Action::Forward : Action::Backward; };
  llvm::DenseMap<int64_t, TaskOp> receivers; // by the channel
  module.walk([&](RecvOp recv) { receivers[recv.getChannel()] = recv->getParentOfType<TaskOp>(); });
  for (StageOp stage : collectStages(module)) {
    int64_t index = stage.getIndex();
    llvm::StringMap<TaskOp> writers;
    stage.walk([&](Operation *op) {
      TaskOp task = op->getParentOfType<TaskOp>();
      if (auto write = dyn_cast<WriteOp>(op))
        writers[write.getBuffer()] = task;
      if (auto send = dyn_cast<SendOp>(op))
        if (TaskOp receiver = receivers.lookup(send.getChannel()))
          transfers.push_back({index, int64_t(send.getStage()), kindOf(task), int64_t(task.getChunk()), int64_t(receiver.getChunk())});
    });
    // What one chunk hands over to another.
    llvm::SetVector<std::pair<Operation *, Operation *>> handed;
    stage.walk([&](ReadOp read) {
      TaskOp reader = read->getParentOfType<TaskOp>(), writer = writers.lookup(read.getBuffer());
      if (writer && writer.getKind() != TaskKind::Prologue && writer.getChunk() != reader.getChunk() && handed.insert({writer, reader}))
        transfers.push_back({index, index, kindOf(reader), int64_t(writer.getChunk()), int64_t(reader.getChunk())});
    });
  }
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
