#include "passes/Memory/StageBufferizer.h"
#include "passes/Memory/RegionBufferizer.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// The commands of one task.
class TaskBufferizer {
public:
  TaskBufferizer(pipe::TaskOp task, exec::ProgramOp program, KernelLibrary &kernels, SymbolTable &symbols,
                 const Accumulation &accumulation, ProgramForm form)
      : task(task), program(program), buffers(program), receivesAhead(form.receivesAhead),
        region(task.getBody().front(), kernels, symbols, accumulation, form.hasEpilogues, createTask(task, program)) {
    for (auto read : task.getBody().front().getOps<pipe::ReadOp>())
      reads.insert(read.getBuffer());
  }

  LogicalResult run() {
    for (Operation &op : task.getBody().front())
      if (failed(placeOperands(&op)))
        return failure();
    for (Operation &op : task.getBody().front())
      if (failed(bufferize(&op)))
        return failure();
    return success();
  }

private:
  static OpBuilder createTask(pipe::TaskOp task, exec::ProgramOp program) {
    auto builder = OpBuilder::atBlockEnd(&program.getBody().front());
    OperationState state(task.getLoc(), exec::TaskOp::getOperationName());
    state.addAttribute("kind", task.getKindAttr());
    if (task.getChunk())
      state.addAttribute("chunk", task.getChunkAttr());
    state.addRegion()->emplaceBlock();
    return OpBuilder::atBlockEnd(&cast<exec::TaskOp>(builder.create(state)).getBody().front());
  }

  /// The stage's verifier has seen to it that there is one, and that types fit.
  exec::BufferOp buffer(StringRef name) { return buffers.lookup<exec::BufferOp>(name); }

  /// The address of a buffer, taken once per task.
  Value address(Operation *user, StringRef name) {
    exec::BufferOp found = buffer(name);
    Value &known = addresses[found];
    if (!known) {
      auto builder = OpBuilder::atBlockBegin(region.builder.getBlock());
      known = builder.create<exec::AddressOp>(user->getLoc(), found.getMemory(), found.getSymName());
    }
    return known;
  }

  /// Before any command: values that a write or a send wants in a certain place.
  LogicalResult placeOperands(Operation *op) {
    if (auto write = dyn_cast<pipe::WriteOp>(op)) {
      Value to = address(op, write.getBuffer());
      if (!reads.contains(write.getBuffer()) && !comesAhead(write.getValue()) && region.place(write.getValue(), to))
        placed.insert(op);
    } else if (auto accumulate = dyn_cast<pipe::AccumulateOp>(op)) {
      Value to = address(op, accumulate.getBuffer());
      Type element = buffer(accumulate.getBuffer()).getElement();
      if ((takesParts(element) || !isa<FloatType>(element)) && region.placeSum(accumulate.getValue(), to))
        placed.insert(op);
    } else if (auto send = dyn_cast<pipe::SendOp>(op)) {
      if (isInSlot(send.getValue()))
        placed.insert(op);
      else if (Value to = address(op, createSendBuffer(send).getSymName()); !comesAhead(send.getValue()) && region.place(send.getValue(), to))
        placed.insert(op);
    }
    return success();
  }

  /// Whether a value lies where it was received.
  bool comesAhead(Value value) { return receivesAhead && throughReshapes(value).getDefiningOp<pipe::RecvOp>(); }

  /// Whether a value is the memory of an activation of this chunk, which stays until a forward takes its slot.
  bool isInSlot(Value value) {
    Value source = throughReshapes(value);
    StringRef name;
    if (auto read = source.getDefiningOp<pipe::ReadOp>())
      name = read.getBuffer();
    for (Operation *user : source.getUsers())
      if (auto write = dyn_cast<pipe::WriteOp>(user); write && placed.contains(write))
        name = write.getBuffer();
    auto found = name.empty() ? exec::BufferOp() : buffer(name);
    return found && found.getKind() == pipe::BufferKind::Activation && pipe::chunkOf(found) == int64_t(task.getChunk());
  }

  exec::BufferOp createSendBuffer(pipe::SendOp send) {
    return createBuffer(send.getLoc(), "send", send.getChannel(), send.getValue(), pipe::BufferKind::Activation);
  }

  exec::BufferOp createBuffer(Location loc, StringRef what, int64_t channel, Value value, pipe::BufferKind kind) {
    auto type = graph::tensorType(value);
    OpBuilder builder(region.builder.getBlock()->getParentOp());
    auto made = builder.create<exec::BufferOp>(loc, builder.getStringAttr(nameOf(what, channel)), pipe::BufferKindAttr::get(builder.getContext(), kind),
                                               TypeAttr::get(exec::memoryType(type)), TypeAttr::get(type.getElementType()),
                                               TypeAttr(), FlatSymbolRefAttr(), IntegerAttr());
    if (task.getChunk() && kind == pipe::BufferKind::Activation)
      made->setAttr(pipe::kChunkAttr, task.getChunkAttr());
    buffers.insert(made);
    return made;
  }

  /// Of the buffer of a transfer.
  std::string nameOf(StringRef what, int64_t channel) { return (what + "." + Twine(channel) + "." + stringifyTaskKind(task.getKind())).str(); }


  LogicalResult bufferize(Operation *op) {
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case<pipe::ReadOp, pipe::WriteOp, pipe::AccumulateOp, pipe::SendOp, pipe::RecvOp, pipe::SynchronizeOp,
              pipe::ReduceSharesOp, pipe::GatherSharesOp, pipe::ReduceTiedOp, pipe::UpdateOp>([&](auto op) { return emit(op); })
        .Default([&](Operation *op) { return region.bufferize(op); });
  }

  LogicalResult emit(pipe::ReadOp op) {
    Value from = address(op, op.getBuffer());
    assert(from.getType() == exec::memoryType(graph::tensorType(op.getResult())) && "the stage is verified");
    region.bind(op.getResult(), from);
    return success();
  }

  LogicalResult emit(pipe::WriteOp op) {
    exec::BufferOp to = buffer(op.getBuffer());
    assert(to.getMemory() == exec::memoryType(graph::tensorType(op.getValue())) && "the stage is verified");
    if (reads.contains(op.getBuffer()))
      return op.emitOpError() << "sets '" << op.getBuffer() << "', which the same task reads; a task reads the values of earlier tasks";
    if (placed.contains(op))
      return success();
    return region.store(op.getLoc(), op.getValue(), address(op, op.getBuffer()), to.getElement(), Store::Set);
  }

  LogicalResult emit(pipe::AccumulateOp op) {
    exec::BufferOp to = buffer(op.getBuffer());
    assert(to.getMemory().getShape() == graph::tensorType(op.getValue()).getShape() && "the stage is verified");
    if (placed.contains(op))
      return success();
    return region.store(op.getLoc(), op.getValue(), address(op, op.getBuffer()), to.getElement(), Store::Add);
  }

  LogicalResult emit(pipe::SendOp op) {
    Value from = region.memory(op.getValue());
    if (!placed.contains(op)) {
      exec::BufferOp copy = buffer(nameOf("send", op.getChannel()));
      from = address(op, copy.getSymName());
      if (failed(region.store(op.getLoc(), op.getValue(), from, copy.getElement(), Store::Set)))
        return failure();
    }
    auto reason = region.builder.getStringAttr("send to stage " + Twine(op.getStage()));
    region.builder.create<exec::SendOp>(op.getLoc(), from, op.getStage(), op.getChannel(), reason);
    return success();
  }

  LogicalResult emit(pipe::RecvOp op) {
    auto reason = region.builder.getStringAttr("recv from stage " + Twine(op.getStage()));
    Value to;
    if (receivesAhead) {
      to = address(op, createBuffer(op.getLoc(), "recv", op.getChannel(), op.getResult(), pipe::BufferKind::Receive).getSymName());
      region.bind(op.getResult(), to);
    } else {
      to = region.allocate(op.getResult());
    }
    region.builder.create<exec::RecvOp>(op.getLoc(), to, op.getStage(), op.getChannel(), reason);
    return success();
  }

  LogicalResult reduce(Operation *op, ArrayRef<StringRef> names, exec::Group group, int64_t number, StringRef reason) {
    // One message per element type.
    llvm::MapVector<Type, SmallVector<Value>> byType;
    for (StringRef name : names) {
      exec::BufferOp found = buffer(name);
      byType[found.getElement()].push_back(address(op, name));
    }
    for (auto &[type, memories] : byType)
      region.builder.create<exec::AllReduceOp>(op->getLoc(), dist::ReduceKind::Sum, memories, group, number, type, reason);
    return success();
  }

  LogicalResult emit(pipe::SynchronizeOp op) {
    auto group = exec::symbolizeGroup(op.getAxis());
    if (!group)
      return op.emitOpError() << "is over '" << op.getAxis() << "'; expected tp, dp, pp, norm, tp_major or tp_minor";
    SmallVector<StringRef> names;
    for (Attribute name : op.getBuffers())
      names.push_back(cast<FlatSymbolRefAttr>(name).getValue());
    return reduce(op, names, *group, 0, op.getReason());
  }

  LogicalResult emit(pipe::ReduceSharesOp op) { return moveShares<exec::ReduceSharesOp>(op); }
  LogicalResult emit(pipe::GatherSharesOp op) { return moveShares<exec::GatherSharesOp>(op); }

  /// The stage's verifier has seen to it that the buffers stand in one row.
  template <typename Command, typename Op> LogicalResult moveShares(Op op) {
    SmallVector<Value> memories;
    exec::BufferOp found;
    for (auto name : op.getBuffers().template getAsRange<FlatSymbolRefAttr>()) {
      found = buffer(name.getValue());
      memories.push_back(address(op, name.getValue()));
    }
    auto axis = exec::symbolizeGroup(op.getAxis());
    if (axis != exec::Group::DP)
      return op.emitOpError() << "is over '" << op.getAxis() << "'; shares are those of dp";
    region.builder.create<Command>(op.getLoc(), memories, pipe::shareOf(found).getChunk(), *axis, found.getElement(), op.getReason());
    return success();
  }

  LogicalResult emit(pipe::ReduceTiedOp op) {
    return reduce(op, op.getBuffer(), exec::Group::Tied, op.getGroup(), "tied " + op.getBuffer().str());
  }

  LogicalResult emit(pipe::UpdateOp op) {
    region.builder.create<exec::UpdateOp>(op.getLoc(), op.getOptimizer(), op.getParameter(), op.getGradient(), op.getDecay());
    return success();
  }

  pipe::TaskOp task;
  exec::ProgramOp program;
  SymbolTable buffers; ///< of the program
  bool receivesAhead;
  RegionBufferizer region;
  DenseMap<Operation *, Value> addresses;
  DenseSet<Operation *> placed;
  llvm::StringSet<> reads; ///< buffers that the task reads
};

exec::ProgramOp createProgram(pipe::StageOp stage) {
  OpBuilder builder(stage);
  OperationState state(stage.getLoc(), exec::ProgramOp::getOperationName());
  exec::ProgramOp::build(builder, state, stage.getSymNameAttr(), stage.getIndexAttr(),
                         stage.getSlotsAttr() ? stage.getSlotsAttr() : builder.getDenseI64ArrayAttr(SmallVector<int64_t>(stage.getNumChunks(), 1)),
                         stage.getOrderAttr(), IntegerAttr(), IntegerAttr(), IntegerAttr());
  state.regions.front()->emplaceBlock();
  auto program = cast<exec::ProgramOp>(builder.create(state));
  program->setAttr("layers", stage.getLayersAttr());
  return program;
}

void createBuffer(OpBuilder &builder, pipe::BufferOp buffer) {
  auto type = buffer.getTensorType();
  auto made = builder.create<exec::BufferOp>(buffer.getLoc(), buffer.getSymNameAttr(), buffer.getKindAttr(),
                                             TypeAttr::get(exec::memoryType(type)), TypeAttr::get(type.getElementType()),
                                             buffer.getGlobalTypeAttr(), FlatSymbolRefAttr(), IntegerAttr());
  for (NamedAttribute attr : buffer->getDiscardableAttrs())
    made->setAttr(attr.getName(), attr.getValue());
}
} // namespace

LogicalResult p3d::memory::bufferizeStage(pipe::StageOp stage, KernelLibrary &kernels, SymbolTable &symbols,
                                          const Accumulation &accumulation, ProgramForm form) {
  exec::ProgramOp program = createProgram(stage);
  auto builder = OpBuilder::atBlockEnd(&program.getBody().front());
  for (auto buffer : stage.getOps<pipe::BufferOp>())
    createBuffer(builder, buffer);
  for (auto task : stage.getOps<pipe::TaskOp>())
    if (failed(TaskBufferizer(task, program, kernels, symbols, accumulation, form).run()))
      return failure();
  return success();
}
