// The rest of a stage: results, gradients, updates, names, the order of the buffers.
#include "passes/Stage/StageBuilder.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;

/// The type in which values of `type` are summed: 16-bit floats in f32.
static RankedTensorType accumulatorType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto element = dyn_cast<FloatType>(tensor.getElementType());
  return element && element.getWidth() < 32 ? tensor.clone(Float32Type::get(type.getContext())) : tensor;
}

bool StageBuilder::holdsUnreducedMicrobatches(unsigned result) const {
  auto sharding = step.getProgram().getResultAttr(result, dist::kShardingAttr);
  return sharding && cast<dist::ShardingAttr>(sharding).isUnreduced(dist::Axis::MB);
}

LogicalResult StageBuilder::addResult(unsigned index) {
  graph::ProgramOp program = step.getProgram();
  Value value = program.getBody().front().getTerminator()->getOperand(index);
  auto name = program.getResultAttrOfType<StringAttr>(index, graph::kNameAttr);
  std::string text = name ? name.str() : "result" + std::to_string(index);
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 0)
    return program.emitError() << "result '" << text << "' has type " << type
                               << "; the loss and the metrics are scalars: reduce it in the loss function";
  Operation *def = step.source(value).getDefiningOp();
  Phase phase = def ? step.phaseOf(def) : Phase::Free;
  bool perMicrobatch = holdsUnreducedMicrobatches(index) || phase == Phase::Forward || phase == Phase::Backward;
  if (perMicrobatch && mesh.getMb() > 1 && !holdsUnreducedMicrobatches(index))
    return program.emitError() << "result '" << text
                               << "' is no sum over microbatches; return a sum, or use one microbatch";
  auto sharding = dyn_cast_or_null<dist::ShardingAttr>(program.getResultAttr(index, dist::kShardingAttr));
  if (sharding && !sharding.getUnreduced().empty() && sharding.getReduce() != dist::ReduceKind::Sum)
    return program.emitError() << "result '" << text << "' is combined by "
                               << dist::stringifyReduceKind(sharding.getReduce())
                               << " over the batch; only sums are accumulated";

  bool placed = phase == Phase::Forward || phase == Phase::Backward;
  int64_t part = placed ? plan.partOf(def) : plan.numParts() - 1;
  TaskKind kind = phase == Phase::Backward ? TaskKind::Backward
                  : perMicrobatch          ? TaskKind::Forward
                                           : TaskKind::Prologue;
  BufferOp buffer = createBuffer(plan.placeOf(part).stage, BufferKind::Result, uniqueName(text), accumulatorType(type));
  if (DictionaryAttr attributes = program.getResultAttrDict(index))
    for (NamedAttribute attribute : attributes)
      if (attribute.getName() != dist::kGlobalTypeAttr)
        buffer->setAttr(attribute.getName(), attribute.getValue());
  accumulate(part, kind, value, buffer);
  return success();
}

BufferOp StageBuilder::gradientBuffer(int64_t stage, const ParameterGradient &entry) {
  BufferOp &buffer = stages[stage].gradients[entry.parameter];
  if (buffer)
    return buffer;
  BufferOp parameter = argumentBuffer(stage, entry.parameter);
  buffer = createBuffer(stage, BufferKind::Gradient, gradientNameOf(entry.parameter),
                        accumulatorType(entry.parameter.getType()));
  buffer->setAttr(kOfAttr, FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
  if (auto sharding = step.getProgram().getResultAttr(entry.result, dist::kShardingAttr))
    buffer->setAttr(dist::kShardingAttr, sharding);
  return buffer;
}

void StageBuilder::addGradient(const ParameterGradient &entry) {
  for (Value value : step.contributions(entry.gradient)) {
    Operation *def = step.source(value).getDefiningOp();
    if (def && step.phaseOf(def) == Phase::Free && matchPattern(value, m_AnyZeroFloat()))
      continue;
    Phase phase = def ? step.phaseOf(def) : Phase::Free;
    int64_t part = isGradient(phase) ? plan.partOf(def) : firstPartOf(firstHolder(entry.parameter));
    TaskKind kind = phase == Phase::WeightGradient ? TaskKind::WeightGradient : TaskKind::Backward;
    accumulate(part, kind, value, gradientBuffer(plan.placeOf(part).stage, entry));
  }
  for (size_t stage = 0; stage < stages.size(); ++stage)
    if (stages[stage].buffers.contains(entry.parameter))
      gradientBuffer(stage, entry);
}

int64_t StageBuilder::firstHolder(Value argument) const {
  for (auto [index, stage] : llvm::enumerate(stages))
    if (stage.buffers.count(argument))
      return index;
  return 0;
}

int64_t StageBuilder::firstPartOf(int64_t stage) const { return p3d::placeOf(plan.shape.placement, {stage, 0}, plan.shape.stages); }

void StageBuilder::keepUnusedParameters() {
  for (BlockArgument argument : step.getProgram().getArguments()) {
    auto role = step.getProgram().getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kRoleAttr);
    bool held = llvm::any_of(stages, [&](const Stage &stage) { return stage.buffers.count(argument); });
    if (!held && role && role.getValue() != "input")
      argumentBuffer(0, argument);
  }
}

void StageBuilder::markTied() {
  for (const ParameterGradient &entry : step.gradients) {
    SmallVector<int64_t> holders;
    for (auto [index, stage] : llvm::enumerate(stages))
      if (stage.buffers.count(entry.parameter))
        holders.push_back(index);
    if (holders.size() < 2)
      continue;
    for (int64_t index : holders) {
      auto tied = builder.getDenseI64ArrayAttr(holders);
      stages[index].buffers[entry.parameter]->setAttr(kTiedStagesAttr, tied);
      stages[index].gradients[entry.parameter]->setAttr(kTiedStagesAttr, tied);
    }
  }
}

void StageBuilder::addUpdates() {
  for (const ParameterGradient &entry : step.gradients)
    for (Stage &stage : stages) {
      if (!entry.update || !stage.buffers.count(entry.parameter))
        continue;
      builder.setInsertionPointToEnd(&stage.tasks[TaskKind::Update].op.getBody().front());
      graph::UpdateOp update = entry.update;
      builder.create<UpdateOp>(update.getLoc(), update.getOptimizer(), stage.buffers[entry.parameter].getSymName(),
                               stage.gradients[entry.parameter].getSymName(), update.getDecay());
    }
}

void StageBuilder::finish() {
  for (Stage &stage : stages) {
    SmallVector<BufferOp> buffers(stage.op.getBody().getOps<BufferOp>());
    llvm::stable_sort(buffers, [](BufferOp a, BufferOp b) { return a.getKind() < b.getKind(); });
    for (BufferOp buffer : buffers)
      buffer->moveBefore(stage.tasks.at(TaskKind::Prologue).op);
    for (TaskKind kind : {TaskKind::Prologue, TaskKind::Update})
      if (TaskOp task = stage.tasks[kind].op; task.getBody().front().empty())
        task.erase();
  }
}

std::string StageBuilder::uniqueName(StringRef wanted) {
  std::string name = wanted.str();
  for (int suffix = 1; !takenNames.insert(name).second; ++suffix)
    name = (wanted + "$" + Twine(suffix)).str();
  return name;
}

std::string StageBuilder::nameOf(Value value) {
  std::string &name = names[value];
  if (!name.empty())
    return name;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber();
    auto given = step.getProgram().getArgAttrOfType<StringAttr>(number, graph::kNameAttr);
    return name = uniqueName(given ? given.str() : "arg" + std::to_string(number));
  }
  auto result = cast<OpResult>(value);
  std::string owner = result.getOwner()->getName().stripDialect().str();
  if (auto call = dyn_cast<graph::CallOp>(result.getOwner()))
    owner = graph::nameOf(step.forwardOf(call) ? step.forwardOf(call) : call);
  if (isGradient(step.phaseOf(result.getOwner())))
    owner += ".grad";
  return name = uniqueName(owner + "." + std::to_string(result.getResultNumber()));
}

std::string StageBuilder::activationNameOf(int64_t home, Value value) {
  std::string name = nameOf(value);
  auto [stage, chunk] = plan.placeOf(home);
  return stages[stage].op.getBuffer(name) ? uniqueName(name + ".chunk" + std::to_string(chunk)) : name;
}

/// `params.h0.w` gives `grads.h0.w`.
std::string StageBuilder::gradientNameOf(BlockArgument parameter) {
  std::string &name = gradientNames[parameter];
  if (!name.empty())
    return name;
  std::string full = nameOf(parameter);
  StringRef rest(full);
  rest.consume_front("params.");
  return name = uniqueName(("grads." + rest).str());
}
