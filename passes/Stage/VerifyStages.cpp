// Checks across stages; what concerns one stage alone is in the verifier of pipe.stage.
#include "dialects/Graph/GraphOps.h"
#include "passes/Stage/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace p3d::pipe;

namespace p3d {
#define GEN_PASS_DEF_VERIFYSTAGESPASS
#include "passes/Stage/Passes.h.inc"

namespace {
int64_t stageIndex(Operation *op) { return op->getParentOfType<StageOp>().getIndex(); }
TaskKind taskKind(Operation *op) { return op->getParentOfType<TaskOp>().getKind(); }

/// C1
LogicalResult verifyNumbers(ModuleOp module, ArrayRef<StageOp> stages) {
  for (graph::ProgramOp program : module.getOps<graph::ProgramOp>())
    return program.emitOpError() << "is left after the cut into stages";
  for (auto [index, entry] : llvm::enumerate(stages)) {
    StageOp stage = entry;
    if (stage.getIndex() != index)
      return stage.emitOpError() << "has index " << stage.getIndex() << ", expected " << index;
  }
  auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  if (!mesh || mesh.getPp() != int64_t(stages.size()))
    return module.emitError() << "has " << stages.size()
                              << " stages, but its mesh has pp = " << (mesh ? mesh.getPp() : 0);
  return success();
}

/// C2
LogicalResult verifyLayers(ArrayRef<StageOp> stages) {
  llvm::MapVector<int64_t, graph::CallOp> seen;
  int64_t next = 0;
  for (StageOp stage : stages) {
    int64_t first = stage.getLayers()[0], last = stage.getLayers()[1];
    if (first <= last && first != next)
      return stage.emitOpError() << "begins with layer " << first << ", expected layer " << next;
    next = std::max(next, last + 1);
    TaskOp forward = stage.getTask(TaskKind::Forward);
    if (!forward)
      return stage.emitOpError() << "has no forward task";
    for (auto call : forward.getBody().getOps<graph::CallOp>()) {
      if (!call.getLayer())
        continue;
      int64_t layer = *call.getLayer();
      if (layer < first || layer > last)
        return call.emitOpError() << "is layer " << layer << ", but its stage holds [" << first << ", " << last << "]";
      seen[layer] = call;
    }
  }
  for (int64_t layer = 0; layer < next; ++layer)
    if (!seen.contains(layer))
      return StageOp(stages.front()).emitOpError() << "and the stages after it lack layer " << layer;
  return success();
}

/// C3
struct Transfers {
  llvm::MapVector<int64_t, SendOp> sends;
  llvm::MapVector<int64_t, RecvOp> recvs;

  LogicalResult collect(ModuleOp module);
  LogicalResult verify();
};

LogicalResult Transfers::collect(ModuleOp module) {
  auto result = module.walk([&](Operation *op) -> WalkResult {
    bool fresh = true;
    if (auto send = dyn_cast<SendOp>(op))
      fresh = sends.insert({send.getChannel(), send}).second;
    if (auto recv = dyn_cast<RecvOp>(op))
      fresh = recvs.insert({recv.getChannel(), recv}).second;
    if (fresh)
      return WalkResult::advance();
    return op->emitOpError() << "uses a channel that another one has; a channel names one transfer";
  });
  return failure(result.wasInterrupted());
}

LogicalResult verifyTransfer(SendOp send, RecvOp recv) {
  int64_t from = stageIndex(send), to = stageIndex(recv);
  if (int64_t(send.getStage()) != to || int64_t(recv.getStage()) != from || taskKind(send) != taskKind(recv)) {
    auto error = send.emitOpError() << "on channel " << send.getChannel() << " goes to the "
                                    << stringifyTaskKind(taskKind(send)) << " task of stage " << send.getStage();
    error.attachNote(recv.getLoc()) << "its receive expects it from stage " << recv.getStage() << " in the "
                                    << stringifyTaskKind(taskKind(recv)) << " task of stage " << to;
    return error;
  }
  if (send.getValue().getType() != recv.getType())
    return recv.emitOpError() << "is of type " << recv.getType() << ", but stage " << from << " sends "
                              << send.getValue().getType();
  if (taskKind(send) == TaskKind::Forward ? from < to : from > to)
    return success();
  return send.emitOpError() << "goes from stage " << from << " to stage " << to << " in a "
                            << stringifyTaskKind(taskKind(send)) << " task, against the pipeline";
}

LogicalResult Transfers::verify() {
  for (auto [channel, recv] : recvs)
    if (!sends.contains(channel))
      return recv.emitOpError() << "on channel " << channel << " has no send";
  for (auto [channel, send] : sends) {
    RecvOp recv = recvs.lookup(channel);
    if (!recv)
      return send.emitOpError() << "on channel " << channel << " has no receive";
    if (failed(verifyTransfer(send, recv)))
      return failure();
  }
  return success();
}

/// C4
LogicalResult verifyBuffers(StageOp stage) {
  llvm::StringMap<int> writes;
  for (TaskOp task : stage.getBody().getOps<TaskOp>())
    for (auto write : task.getBody().getOps<WriteOp>()) {
      bool complete = stage.getBuffer(write.getBuffer()).getKind() == BufferKind::Complete;
      if (task.getKind() != (complete ? TaskKind::Prologue : TaskKind::Forward))
        return write.emitOpError() << "stands in a " << stringifyTaskKind(task.getKind())
                                   << " task; complete buffers are "
                                   << "written by the prologue, activations by the forward task";
      if (++writes[write.getBuffer()] > 1)
        return write.emitOpError() << "is the second write to '" << write.getBuffer() << "'";
    }
  for (TaskOp task : stage.getBody().getOps<TaskOp>())
    for (auto read : task.getBody().getOps<ReadOp>()) {
      BufferKind kind = stage.getBuffer(read.getBuffer()).getKind();
      if ((kind == BufferKind::Complete || kind == BufferKind::Activation) && !writes.contains(read.getBuffer()))
        return read.emitOpError() << "reads '" << read.getBuffer() << "', which no task writes";
    }
  return success();
}

/// C5
LogicalResult verifyTied(ArrayRef<StageOp> stages, BufferOp gradient) {
  auto tied = gradient->getAttrOfType<DenseI64ArrayAttr>(kTiedStagesAttr);
  for (StageOp other : stages) {
    bool named = tied ? llvm::is_contained(tied.asArrayRef(), other.getIndex()) : other == gradient->getParentOp();
    BufferOp copy = other.getBuffer(gradient.getSymName());
    if (bool(copy) != named)
      return gradient.emitOpError() << (copy ? "has a copy in stage " : "lacks a copy in stage ") << other.getIndex()
                                    << ", which '" << kTiedStagesAttr << (copy ? "' does not name" : "' names");
  }
  return success();
}

LogicalResult verifyTied(ArrayRef<StageOp> stages) {
  for (StageOp stage : stages)
    for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
      if (buffer.getKind() == BufferKind::Gradient && failed(verifyTied(stages, buffer)))
        return failure();
  return success();
}

struct VerifyStagesPass : impl::VerifyStagesPassBase<VerifyStagesPass> {
  void runOnOperation() override {
    SmallVector<StageOp> stages(getOperation().getOps<StageOp>());
    Transfers transfers;
    if (failed(verifyNumbers(getOperation(), stages)) || failed(verifyLayers(stages)) ||
        failed(transfers.collect(getOperation())) || failed(transfers.verify()) || failed(verifyTied(stages)))
      return signalPassFailure();
    for (StageOp stage : stages)
      if (failed(verifyBuffers(stage)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace p3d
