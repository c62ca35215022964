// Values on demand: from a buffer, from another stage, or computed again.
#include "passes/Stage/StageBuilder.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;

StageBuilder::StageBuilder(const TrainingStep &step, const StagePlan &plan, dist::MeshAttr mesh)
    : step(step), plan(plan), mesh(mesh), builder(step.getProgram().getContext()) {}

/// The task that holds operations of `phase`.
static TaskKind taskKindOf(Phase phase) {
  return phase == Phase::Forward    ? TaskKind::Forward
         : phase == Phase::Backward ? TaskKind::Backward
                                    : TaskKind::WeightGradient;
}

LogicalResult StageBuilder::build() {
  makeStages();
  for (Operation &op : step.getBody()) {
    Phase phase = step.phaseOf(&op);
    if ((phase == Phase::Forward || isGradient(phase)) && !step.isGradientSum(&op))
      clone(plan.partOf(&op), taskKindOf(phase), &op);
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
  Location loc = step.getProgram().getLoc();
  const auto &[count, chunks, placement] = plan.shape;
  parts.resize(plan.numParts());
  SmallVector<TaskKind> perMicrobatch{TaskKind::Forward, TaskKind::Backward};
  if (step.splitsBackward())
    perMicrobatch.push_back(TaskKind::WeightGradient);
  for (int64_t index = 0; index < count; ++index) {
    SmallVector<int64_t> layers;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      auto [first, last] = plan.layers[p3d::placeOf(placement, {index, chunk}, count)];
      layers.append({first, last});
    }
    builder.setInsertionPointToEnd(module.getBody());
    Stage &stage = stages.emplace_back();
    stage.op = builder.create<StageOp>(loc, "stage" + std::to_string(index), index, layers);
    builder.setInsertionPointToEnd(&stage.op.getBody().front());
    stage.tasks[TaskKind::Prologue].op = builder.create<TaskOp>(loc, TaskKind::Prologue);
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (TaskKind kind : perMicrobatch)
        parts[p3d::placeOf(placement, {index, chunk}, count)].tasks[kind].op = builder.create<TaskOp>(loc, kind, chunk);
    stage.tasks[TaskKind::Update].op = builder.create<TaskOp>(loc, TaskKind::Update);
  }
}

StageBuilder::Task &StageBuilder::taskOf(int64_t part, TaskKind kind) {
  bool oncePerStep = kind == TaskKind::Prologue || kind == TaskKind::Update;
  return (oncePerStep ? stageOf(part).tasks : parts[part].tasks).at(kind);
}

Value StageBuilder::get(int64_t part, TaskKind kind, Value value) {
  value = step.source(value);
  auto &values = taskOf(part, kind).values;
  if (Value known = values.lookup(value))
    return known;
  Value made = make(part, kind, value);
  return values[value] = made;
}

Value StageBuilder::make(int64_t part, TaskKind kind, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return read(part, kind, argumentBuffer(plan.placeOf(part).stage, argument));
  Operation *def = value.getDefiningOp();
  switch (step.phaseOf(def)) {
  case Phase::Free:
    clone(part, kind, def);
    return taskOf(part, kind).values.lookup(value);
  case Phase::Prologue:
    return readComplete(part, kind, value);
  case Phase::Forward:
    // A later part gets the value in its forward task and keeps it; only what flows to an earlier one waits for the
    // backward task.
    if (kind != TaskKind::Forward && plan.partOf(def) <= part)
      return readActivation(part, kind, TaskKind::Forward, value);
    break;
  case Phase::Backward:
    break;
  case Phase::WeightGradient:
    llvm_unreachable("a weight gradient is needed where it is made");
  case Phase::Update:
    llvm_unreachable("an update has no results");
  }
  // Weight gradients wait for nobody: what they need comes to the backward task.
  if (kind == TaskKind::WeightGradient)
    return readActivation(part, kind, TaskKind::Backward, value);
  return transfer(plan.partOf(def), part, kind, value);
}

void StageBuilder::clone(int64_t part, TaskKind kind, Operation *op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, get(part, kind, operand));
  Task &task = taskOf(part, kind);
  builder.setInsertionPointToEnd(&task.op.getBody().front());
  Operation *copy = builder.clone(*op, mapping);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    task.values[from] = to;
}

Value StageBuilder::read(int64_t part, TaskKind kind, BufferOp buffer) {
  builder.setInsertionPointToEnd(&taskOf(part, kind).op.getBody().front());
  return builder.create<ReadOp>(buffer.getLoc(), buffer.getType(), buffer.getSymName());
}

Value StageBuilder::readComplete(int64_t part, TaskKind kind, Value value) {
  if (kind == TaskKind::Prologue) {
    clone(part, kind, value.getDefiningOp());
    return taskOf(part, kind).values.lookup(value);
  }
  return read(part, kind, keepComplete(part, value));
}

Value StageBuilder::readActivation(int64_t part, TaskKind kind, TaskKind from, Value value) {
  return read(part, kind, keep(part, from, part, value));
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

void StageBuilder::write(int64_t part, TaskKind kind, Value value, BufferOp buffer) {
  Value kept = get(part, kind, value);
  setInsertionPointBehind(builder, kept);
  builder.create<WriteOp>(kept.getLoc(), kept, buffer.getSymName());
}

BufferOp StageBuilder::keepComplete(int64_t part, Value value) {
  BufferOp &buffer = stageOf(part).buffers[value];
  if (!buffer) {
    buffer = createBuffer(plan.placeOf(part).stage, BufferKind::Complete, nameOf(value), value.getType());
    write(part, TaskKind::Prologue, value, buffer);
  }
  return buffer;
}

BufferOp StageBuilder::keep(int64_t part, TaskKind kind, int64_t home, Value value) {
  if (BufferOp known = parts[home].activations.lookup(value))
    return known;
  Value kept = get(part, kind, value);
  // A value that another chunk hands over is kept by getting it.
  if (BufferOp known = parts[home].activations.lookup(value))
    return known;
  auto [stage, chunk] = plan.placeOf(home);
  BufferOp buffer = createBuffer(stage, BufferKind::Activation, activationNameOf(home, value), kept.getType());
  if (chunk)
    buffer->setAttr(kChunkAttr, builder.getI64IntegerAttr(chunk));
  // What a run can show of the inside of a step.
  if (Attribute sharding = shardingOf(value); sharding && kind == TaskKind::Forward && buffer.getSymName() == nameOf(value))
    buffer->setAttr(dist::kShardingAttr, sharding);
  parts[home].activations[value] = buffer;
  write(part, kind, value, buffer);
  return buffer;
}

Value StageBuilder::transfer(int64_t from, int64_t to, TaskKind kind, Value value) {
  Part sender = plan.placeOf(from), receiver = plan.placeOf(to);
  // A stage gets a value once, in the first of its chunks on the way: on its way to a later one it would cross what that
  // chunk gets. Between chunks of one stage it stays, as the earlier one's, which lives longer.
  int64_t onwards = from < to ? 1 : -1, first = from;
  while (plan.placeOf(first).stage != receiver.stage)
    first += onwards;
  if (first != to)
    return read(to, kind, keep(first, kind, std::min(first, to), value));
  Value sent = get(from, kind, value);
  int64_t channel = channels++;
  builder.setInsertionPointToEnd(&taskOf(from, kind).op.getBody().front());
  builder.create<SendOp>(value.getLoc(), sent, receiver.stage, channel);
  builder.setInsertionPointToEnd(&taskOf(to, kind).op.getBody().front());
  return builder.create<RecvOp>(value.getLoc(), sent.getType(), sender.stage, channel);
}

void StageBuilder::accumulate(int64_t part, TaskKind kind, Value value, BufferOp buffer) {
  Value local = get(part, kind, value);
  setInsertionPointBehind(builder, local);
  builder.create<AccumulateOp>(value.getLoc(), local, buffer.getSymName());
}

BufferOp StageBuilder::createBuffer(int64_t stage, BufferKind kind, StringRef name, Type type) {
  builder.setInsertionPoint(stages[stage].tasks.at(TaskKind::Prologue).op);
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
