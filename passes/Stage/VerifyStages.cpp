// Checks across stages; what concerns one stage alone is in the verifier of pipe.stage.
#include "dialects/Graph/GraphOps.h"
#include "passes/Stage/Chain.h"
#include "passes/Stage/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace p3d::pipe;

// The last stage of a chain that turns around holds the first part of it twice.
p3d::Placement p3d::findPlacement(ArrayRef<StageOp> stages) {
  StageOp first = stages.front(), last = stages.back();
  bool turns = stages.size() > 1 && first.getNumChunks() > 1 && last.getNumChunks() > 1 && last.getLayersOf(1).first < first.getLayersOf(1).first;
  return turns ? Placement::Vee : Placement::Loop;
}

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

/// The layers that the forward task of one part calls.
LogicalResult collectLayers(StageOp stage, int64_t chunk, llvm::DenseSet<int64_t> &seen) {
  auto [first, last] = stage.getLayersOf(chunk);
  TaskOp forward = stage.getTask(TaskKind::Forward, chunk);
  if (!forward)
    return stage.emitOpError() << "has no forward task of chunk " << chunk;
  for (auto call : forward.getBody().getOps<graph::CallOp>()) {
    if (!call.getLayer())
      continue;
    int64_t layer = *call.getLayer();
    if (layer < first || layer > last)
      return call.emitOpError() << "is layer " << layer << ", but its stage holds [" << first << ", " << last << "]";
    seen.insert(layer);
  }
  return success();
}

/// C2
LogicalResult verifyLayers(ArrayRef<StageOp> stages) {
  llvm::DenseSet<int64_t> seen;
  int64_t next = 0, chunks = StageOp(stages.front()).getNumChunks(), count = stages.size();
  for (StageOp stage : stages)
    if (stage.getNumChunks() != chunks)
      return stage.emitOpError() << "has " << stage.getNumChunks() << " chunks, but the first stage has " << chunks;
  Placement placement = findPlacement(stages);
  for (int64_t place = 0; place < count * chunks; ++place) {
    auto [index, chunk] = partAt(placement, place, count);
    StageOp stage = stages[index];
    auto [first, last] = stage.getLayersOf(chunk);
    if (first <= last && first != next)
      return stage.emitOpError() << "begins with layer " << first << ", expected layer " << next;
    next = std::max(next, last + 1);
    if (failed(collectLayers(stage, chunk, seen)))
      return failure();
  }
  for (int64_t layer = 0; layer < next; ++layer)
    if (!seen.contains(layer))
      return StageOp(stages.front()).emitOpError() << "and the stages after it lack layer " << layer;
  return success();
}

/// C3
struct Transfers {
  explicit Transfers(ArrayRef<StageOp> stages) : stages(stages), placement(findPlacement(stages)) {}
  ArrayRef<StageOp> stages;
  Placement placement;
  llvm::MapVector<int64_t, SendOp> sends;
  llvm::MapVector<int64_t, RecvOp> recvs;

  LogicalResult collect(ModuleOp module);
  LogicalResult verify();

private:
  LogicalResult verify(SendOp send, RecvOp recv);
  /// The place in the chain of the part that an operation of a task belongs to.
  int64_t placeOf(Operation *op) {
    return p3d::placeOf(placement, {stageIndex(op), int64_t(op->getParentOfType<TaskOp>().getChunk())}, stages.size());
  }
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

LogicalResult Transfers::verify(SendOp send, RecvOp recv) {
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
  if (taskKind(send) == TaskKind::Forward ? placeOf(send) < placeOf(recv) : placeOf(send) > placeOf(recv))
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
    if (failed(verify(send, recv)))
      return failure();
  }
  return success();
}

/// C4
class BufferVerifier {
public:
  BufferVerifier(StageOp stage, Placement placement, int64_t stages) : stage(stage), buffers(stage), placement(placement), stages(stages) {}

  LogicalResult verify() {
    for (TaskOp task : stage.getBody().getOps<TaskOp>())
      for (auto write : task.getBody().getOps<WriteOp>())
        if (failed(verify(write, task)))
          return failure();
    for (TaskOp task : stage.getBody().getOps<TaskOp>())
      for (auto read : task.getBody().getOps<ReadOp>())
        if (failed(verify(read, task)))
          return failure();
    return success();
  }

private:
  LogicalResult verify(WriteOp write, TaskOp task) {
    bool complete = buffers.lookup<BufferOp>(write.getBuffer()).getKind() == BufferKind::Complete;
    TaskKind kind = task.getKind();
    if (complete ? kind != TaskKind::Prologue : kind != TaskKind::Forward && kind != TaskKind::Backward)
      return write.emitOpError() << "stands in a " << stringifyTaskKind(kind) << " task; complete buffers are "
                                 << "written by the prologue, activations by the forward and the backward task";
    if (!writers.try_emplace(write.getBuffer(), task).second)
      return write.emitOpError() << "is the second write to '" << write.getBuffer() << "'";
    return success();
  }

  LogicalResult verify(ReadOp read, TaskOp task) {
    auto buffer = buffers.lookup<BufferOp>(read.getBuffer());
    if (buffer.getKind() != BufferKind::Complete && buffer.getKind() != BufferKind::Activation)
      return success();
    TaskOp writer = writers.lookup(read.getBuffer());
    if (!writer)
      return read.emitOpError() << "reads '" << read.getBuffer() << "', which no task writes";
    if (buffer.getKind() == BufferKind::Complete || isBefore(writer, task))
      return success();
    return read.emitOpError() << "reads '" << read.getBuffer() << "', which the " << nameOf(writer) << " writes, in the " << nameOf(task)
                              << ", which does not come after it in the slot of chunk " << chunkOf(buffer);
  }

  /// Whether `reader` runs after `writer` for the same microbatch: by its kind, or along the chain of layers.
  bool isBefore(TaskOp writer, TaskOp reader) {
    if (writer.getChunk() == reader.getChunk())
      return writer.getKind() < reader.getKind();
    int64_t from = placeOf(writer), to = placeOf(reader);
    return writer.getKind() == TaskKind::Forward ? reader.getKind() == TaskKind::Forward && from < to : reader.getKind() >= TaskKind::Backward && from > to;
  }

  int64_t placeOf(TaskOp task) { return p3d::placeOf(placement, {int64_t(stage.getIndex()), int64_t(task.getChunk())}, stages); }
  static std::string nameOf(TaskOp task) {
    return (stringifyTaskKind(task.getKind()) + " task of chunk " + Twine(task.getChunk())).str();
  }

  StageOp stage;
  SymbolTable buffers; ///< of the stage
  Placement placement;
  int64_t stages;
  llvm::StringMap<TaskOp> writers;
};

/// C5
LogicalResult verifyTied(ArrayRef<StageOp> stages, ArrayRef<SymbolTable> buffers, BufferOp gradient) {
  auto tied = gradient->getAttrOfType<DenseI64ArrayAttr>(kTiedStagesAttr);
  for (auto [stage, symbols] : llvm::zip(stages, buffers)) {
    StageOp other = stage;
    bool named = tied ? llvm::is_contained(tied.asArrayRef(), other.getIndex()) : other == gradient->getParentOp();
    auto copy = symbols.lookup<BufferOp>(gradient.getSymName());
    if (bool(copy) != named)
      return gradient.emitOpError() << (copy ? "has a copy in stage " : "lacks a copy in stage ") << other.getIndex()
                                    << ", which '" << kTiedStagesAttr << (copy ? "' does not name" : "' names");
  }
  return success();
}

LogicalResult verifyTied(ArrayRef<StageOp> stages) {
  std::vector<SymbolTable> buffers;
  for (StageOp stage : stages)
    buffers.emplace_back(stage);
  for (StageOp stage : stages)
    for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
      if (buffer.getKind() == BufferKind::Gradient && failed(verifyTied(stages, buffers, buffer)))
        return failure();
  return success();
}

struct VerifyStagesPass : impl::VerifyStagesPassBase<VerifyStagesPass> {
  void runOnOperation() override {
    SmallVector<StageOp> stages(getOperation().getOps<StageOp>());
    if (failed(verifyNumbers(getOperation(), stages)))
      return signalPassFailure();
    Transfers transfers(stages);
    if (failed(verifyLayers(stages)) || failed(transfers.collect(getOperation())) || failed(transfers.verify()) || failed(verifyTied(stages)))
      return signalPassFailure();
    for (StageOp stage : stages)
      if (failed(BufferVerifier(stage, transfers.placement, stages.size()).verify()))
        return signalPassFailure();
  }
};
} // namespace
} // namespace p3d
