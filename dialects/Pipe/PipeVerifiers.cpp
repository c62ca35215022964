// Constraints of a stage: its buffers, its tasks, and what the tasks do to the buffers.
#include "dialects/Pipe/PipeOps.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d::pipe;

TaskOp StageOp::getTask(TaskKind kind, int64_t chunk) {
  for (TaskOp task : getBody().getOps<TaskOp>())
    if (task.getKind() == kind && int64_t(task.getChunk()) == chunk)
      return task;
  return {};
}

BufferOp StageOp::getBuffer(StringRef name) {
  return dyn_cast_or_null<BufferOp>(mlir::SymbolTable::lookupSymbolIn(*this, name));
}

namespace {
/// Finds the buffers of one stage and checks what its tasks do to them.
class StageVerifier {
public:
  explicit StageVerifier(StageOp stage) : stage(stage) {
    for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
      buffers[buffer.getSymName()] = buffer;
  }

  LogicalResult verify();

private:
  /// C2, C4: the buffer `name` that `op` uses, which has to be of one of `kinds` (any, if empty); null after an error.
  BufferOp find(Operation *op, StringRef name, ArrayRef<BufferKind> kinds = {});
  LogicalResult verifyType(Operation *op, Type found, StringRef name, ArrayRef<BufferKind> kinds = {});
  LogicalResult verifyShape(Operation *op, ShapedType found, BufferOp buffer);
  LogicalResult verifyTasks();
  LogicalResult verifyGradient(BufferOp buffer);
  LogicalResult verifyUse(Operation *op);
  LogicalResult verifyBuffers(Operation *op, ArrayAttr names, ArrayRef<BufferKind> kinds);
  /// C6
  LogicalResult verifyShares(Operation *op, ArrayAttr names, BufferKind kind);

  StageOp stage;
  llvm::StringMap<BufferOp> buffers;
};

BufferOp StageVerifier::find(Operation *op, StringRef name, ArrayRef<BufferKind> kinds) {
  BufferOp buffer = buffers.lookup(name);
  if (!buffer) {
    op->emitOpError() << "uses '" << name << "', which is no buffer of stage " << stage.getIndex();
    return {};
  }
  if (kinds.empty() || llvm::is_contained(kinds, buffer.getKind()))
    return buffer;
  auto error = op->emitOpError() << "uses '" << name << "', a buffer of kind " << stringifyBufferKind(buffer.getKind())
                                 << ", expected ";
  llvm::interleave(
      kinds, [&](BufferKind kind) { error << stringifyBufferKind(kind); }, [&] { error << " or "; });
  return {};
}

LogicalResult StageVerifier::verifyType(Operation *op, Type found, StringRef name, ArrayRef<BufferKind> kinds) {
  BufferOp buffer = find(op, name, kinds);
  if (!buffer)
    return failure();
  if (found != buffer.getType())
    return op->emitOpError() << "has a value of type " << found << ", but buffer '" << name << "' is of type "
                             << buffer.getType();
  return success();
}

LogicalResult StageVerifier::verifyShape(Operation *op, ShapedType found, BufferOp buffer) {
  if (found.getShape() == buffer.getTensorType().getShape())
    return success();
  return op->emitOpError() << "has a value of type " << found << ", but buffer '" << buffer.getSymName()
                           << "' is of type " << buffer.getType();
}

LogicalResult StageVerifier::verifyTasks() {
  llvm::SmallSet<std::pair<TaskKind, int64_t>, 8> seen;
  for (Operation &op : stage.getBody().front()) {
    if (isa<BufferOp>(op))
      continue;
    auto task = dyn_cast<TaskOp>(op);
    if (!task)
      return op.emitOpError() << "stands in a pipe.stage, which holds buffers and tasks";
    if (int64_t(task.getChunk()) < 0 || int64_t(task.getChunk()) >= stage.getNumChunks())
      return op.emitOpError() << "is of chunk " << int64_t(task.getChunk()) << ", but stage " << stage.getIndex() << " has "
                              << stage.getNumChunks() << " (two entries of 'layers' for each)";
    if (!seen.insert({task.getKind(), task.getChunk()}).second)
      return op.emitOpError() << "is the second " << stringifyTaskKind(task.getKind()) << " task of stage "
                              << stage.getIndex() << ", chunk " << task.getChunk();
  }
  return success();
}

LogicalResult StageVerifier::verifyGradient(BufferOp buffer) {
  if (buffer.getKind() != BufferKind::Gradient)
    return success();
  auto of = buffer->getAttrOfType<FlatSymbolRefAttr>(kOfAttr);
  if (!of)
    return buffer.emitOpError() << "is a gradient without '" << kOfAttr << "', the name of its parameter buffer";
  BufferOp parameter = find(buffer, of.getValue(), {BufferKind::Parameter});
  if (parameter && holdsShare(buffer) != holdsShare(parameter)) // one is whole, the other flat
    return success();
  return parameter ? verifyShape(buffer, buffer.getTensorType(), parameter) : failure();
}

LogicalResult StageVerifier::verifyBuffers(Operation *op, ArrayAttr names, ArrayRef<BufferKind> kinds) {
  for (Attribute entry : names) {
    auto name = dyn_cast<FlatSymbolRefAttr>(entry);
    if (!name)
      return op->emitOpError() << "lists " << entry << ", expected the name of a buffer";
    if (!find(op, name.getValue(), kinds))
      return failure();
  }
  return success();
}

LogicalResult StageVerifier::verifyShares(Operation *op, ArrayAttr names, BufferKind kind) {
  if (failed(verifyBuffers(op, names, kind)))
    return failure();
  ShareAttr first;
  int64_t end = 0;
  for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
    BufferOp buffer = buffers.lookup(name.getValue());
    ShareAttr share = shareOf(buffer);
    if (!share || holdsShare(buffer))
      return op->emitOpError() << "moves shares of '" << name.getValue() << "', which " << (share ? "holds no more than one" : "has none ('pipe.share')");
    first = first ? first : share;
    if (share.getRow() != first.getRow() || share.getChunk() != first.getChunk() || share.getStart() < end)
      return op->emitOpError() << "moves '" << name.getValue() << "' with " << share << " behind " << first << ", which end at " << end
                               << "; shares that move together stand in one row, in its order";
    end = share.getStart() + buffer.getTensorType().getNumElements();
  }
  return success();
}

LogicalResult StageVerifier::verifyUse(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ReadOp read) { return verifyType(op, read.getType(), read.getBuffer()); })
      .Case([&](WriteOp write) {
        return verifyType(op, write.getValue().getType(), write.getBuffer(),
                          {BufferKind::Complete, BufferKind::Activation});
      })
      .Case([&](AccumulateOp add) -> LogicalResult {
        BufferOp buffer = find(op, add.getBuffer(), {BufferKind::Gradient, BufferKind::Result});
        return buffer ? verifyShape(op, cast<ShapedType>(add.getValue().getType()), buffer) : failure();
      })
      .Case([&](SynchronizeOp sync) { return verifyBuffers(sync, sync.getBuffers(), {BufferKind::Gradient, BufferKind::Result}); })
      .Case([&](ReduceSharesOp reduce) { return verifyShares(reduce, reduce.getBuffers(), BufferKind::Gradient); })
      .Case([&](GatherSharesOp gather) { return verifyShares(gather, gather.getBuffers(), BufferKind::Parameter); })
      .Case([&](ReduceTiedOp tied) { return success(bool(find(op, tied.getBuffer(), {BufferKind::Gradient}))); })
      .Case([&](UpdateOp update) -> LogicalResult {
        return success(find(op, update.getParameter(), {BufferKind::Parameter}) &&
                       find(op, update.getGradient(), {BufferKind::Gradient}));
      })
      .Default([](Operation *) { return success(); });
}

LogicalResult StageVerifier::verify() {
  if (stage.getLayers().empty() || stage.getLayers().size() % 2)
    return stage.emitOpError() << "has " << stage.getLayers().size() << " entries in 'layers', expected [first, last] of each chunk";
  if (failed(verifyTasks()))
    return failure();
  for (auto &entry : buffers)
    if (failed(verifyGradient(entry.second)))
      return failure();
  auto result = stage.getBody().walk(
      [&](Operation *op) { return failed(verifyUse(op)) ? WalkResult::interrupt() : WalkResult::advance(); });
  return failure(result.wasInterrupted());
}
} // namespace

LogicalResult StageOp::verifyRegions() { return StageVerifier(*this).verify(); }
