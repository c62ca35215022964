// Values on demand: from a buffer, from another stage, or computed again.
#include "passes/Stage/StageBuilder.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;

StageBuilder::StageBuilder(const TrainingStep &step, const StagePlan &plan, dist::MeshAttr mesh)
    : step(step), plan(plan), mesh(mesh), builder(step.getProgram().getContext()) {}

LogicalResult StageBuilder::build() {
  makeStages();
  for (Operation &op : step.getBody()) {
    Phase phase = step.phaseOf(&op);
    if ((phase == Phase::Forward || phase == Phase::Backward) && !step.isGradientSum(&op))
      clone(plan.stageOf(&op), phase == Phase::Forward ? TaskKind::Forward : TaskKind::Backward, &op);
  }
  for (unsigned index : step.results)
    if (failed(addResult(index)))
      return failure();
  keepUnusedParameters();
  for (const ParameterGradient &entry : step.gradients)
    addGradient(entry);
  markTied();
  addUpdates();
  finish();
  return success();
}

void StageBuilder::makeStages() {
  auto module = step.getProgram()->getParentOfType<ModuleOp>();
  for (auto [index, range] : llvm::enumerate(plan.layers)) {
    builder.setInsertionPointToEnd(module.getBody());
    Stage &stage = stages.emplace_back();
    stage.op = builder.create<StageOp>(step.getProgram().getLoc(), "stage" + std::to_string(index), index,
                                       ArrayRef<int64_t>{range.first, range.second});
    for (TaskKind kind : {TaskKind::Prologue, TaskKind::Forward, TaskKind::Backward, TaskKind::Update}) {
      builder.setInsertionPointToEnd(&stage.op.getBody().front());
      stage.tasks[kind].op = builder.create<TaskOp>(step.getProgram().getLoc(), kind);
    }
  }
}

Value StageBuilder::get(int64_t stage, TaskKind kind, Value value) {
  value = step.source(value);
  auto &values = stages[stage].tasks[kind].values;
  if (Value known = values.lookup(value))
    return known;
  Value made = make(stage, kind, value);
  return values[value] = made;
}

Value StageBuilder::make(int64_t stage, TaskKind kind, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return read(stage, kind, argumentBuffer(stage, argument));
  Operation *def = value.getDefiningOp();
  switch (step.phaseOf(def)) {
  case Phase::Free:
    clone(stage, kind, def);
    return stages[stage].tasks[kind].values.lookup(value);
  case Phase::Prologue:
    return readComplete(stage, kind, value);
  case Phase::Forward: {
    int64_t from = plan.stageOf(def);
    if (kind == TaskKind::Forward)
      return transfer(from, stage, kind, value);
    // A later stage gets the value in its forward task and keeps it; only what flows to an earlier one waits for the
    // backward task.
    return from <= stage ? readActivation(stage, value) : transfer(from, stage, kind, value);
  }
  case Phase::Backward:
    return transfer(plan.stageOf(def), stage, kind, value);
  case Phase::Update:
    break;
  }
  llvm_unreachable("an update has no results");
}

void StageBuilder::clone(int64_t stage, TaskKind kind, Operation *op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, get(stage, kind, operand));
  Task &task = stages[stage].tasks[kind];
  builder.setInsertionPointToEnd(&task.op.getBody().front());
  Operation *copy = builder.clone(*op, mapping);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    task.values[from] = to;
}

Value StageBuilder::read(int64_t stage, TaskKind kind, BufferOp buffer) {
  builder.setInsertionPointToEnd(&stages[stage].tasks[kind].op.getBody().front());
  return builder.create<ReadOp>(buffer.getLoc(), buffer.getType(), buffer.getSymName());
}

Value StageBuilder::readComplete(int64_t stage, TaskKind kind, Value value) {
  if (kind == TaskKind::Prologue) {
    clone(stage, kind, value.getDefiningOp());
    return stages[stage].tasks[kind].values.lookup(value);
  }
  return read(stage, kind, keep(stage, TaskKind::Prologue, BufferKind::Complete, value));
}

Value StageBuilder::readActivation(int64_t stage, Value value) {
  return read(stage, TaskKind::Backward, keep(stage, TaskKind::Forward, BufferKind::Activation, value));
}

/// Behind the op that makes `value` and what is already done with it there, so that the order of requests is kept.
static void setInsertionPointBehind(OpBuilder &builder, Value value) {
  Operation *last = value.getDefiningOp();
  while (isa_and_nonnull<WriteOp, AccumulateOp>(last->getNextNode()))
    last = last->getNextNode();
  builder.setInsertionPointAfter(last);
}

/// The sharding of a block's result, null for any other value.
static Attribute shardingOf(Value value) {
  auto call = value.getDefiningOp<graph::CallOp>();
  return call ? call.lookupBlock().getResultAttr(cast<OpResult>(value).getResultNumber(), dist::kShardingAttr) : Attribute();
}

BufferOp StageBuilder::keep(int64_t stage, TaskKind kind, BufferKind as, Value value) {
  if (BufferOp known = stages[stage].buffers.lookup(value))
    return known;
  Value kept = get(stage, kind, value);
  BufferOp buffer = createBuffer(stage, as, nameOf(value), kept.getType());
  if (Attribute sharding = as == BufferKind::Activation ? shardingOf(value) : Attribute())
    buffer->setAttr(dist::kShardingAttr, sharding);
  setInsertionPointBehind(builder, kept);
  builder.create<WriteOp>(kept.getLoc(), kept, buffer.getSymName());
  stages[stage].buffers[value] = buffer;
  return buffer;
}

Value StageBuilder::transfer(int64_t from, int64_t to, TaskKind kind, Value value) {
  Value sent = get(from, kind, value);
  int64_t channel = channels++;
  builder.setInsertionPointToEnd(&stages[from].tasks[kind].op.getBody().front());
  builder.create<SendOp>(value.getLoc(), sent, to, channel);
  builder.setInsertionPointToEnd(&stages[to].tasks[kind].op.getBody().front());
  return builder.create<RecvOp>(value.getLoc(), sent.getType(), from, channel);
}

void StageBuilder::accumulate(int64_t stage, TaskKind kind, Value value, BufferOp buffer) {
  Value local = get(stage, kind, value);
  setInsertionPointBehind(builder, local);
  builder.create<AccumulateOp>(value.getLoc(), local, buffer.getSymName());
}

BufferOp StageBuilder::createBuffer(int64_t stage, BufferKind kind, StringRef name, Type type) {
  builder.setInsertionPoint(stages[stage].tasks.begin()->second.op);
  return builder.create<BufferOp>(step.getProgram().getLoc(), name, kind, type, TypeAttr());
}

BufferOp StageBuilder::argumentBuffer(int64_t stage, BlockArgument argument) {
  if (BufferOp known = stages[stage].buffers.lookup(argument))
    return known;
  graph::ProgramOp program = step.getProgram();
  unsigned number = argument.getArgNumber();
  auto role = program.getArgAttrOfType<StringAttr>(number, graph::kRoleAttr);
  BufferKind kind = role && role.getValue() == "input" ? BufferKind::Input : BufferKind::Parameter;
  BufferOp buffer = createBuffer(stage, kind, nameOf(argument), argument.getType());
  if (DictionaryAttr attributes = program.getArgAttrDict(number))
    for (NamedAttribute attribute : attributes)
      if (attribute.getName() != dist::kGlobalTypeAttr)
        buffer->setAttr(attribute.getName(), attribute.getValue());
  auto global = program.getArgAttrOfType<TypeAttr>(number, dist::kGlobalTypeAttr);
  if (global && global.getValue() != argument.getType())
    buffer.setGlobalTypeAttr(global);
  stages[stage].buffers[argument] = buffer;
  return buffer;
}
