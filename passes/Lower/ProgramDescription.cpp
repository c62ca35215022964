#include "passes/Lower/ProgramDescription.h"
#include "dialects/Graph/GraphOps.h"
#include "llvm/Support/JSON.h"
#include <set>

using namespace mlir;
using namespace p3d;
using namespace p3d::lower;
namespace json = llvm::json;

namespace {
/// The name of an element type in files: f32, ui32, i1 ...
std::string typeName(Type type) {
  std::string name;
  llvm::raw_string_ostream stream(name);
  stream << type;
  return name;
}

json::Array toArray(ArrayRef<int64_t> numbers) { return json::Array(numbers); }

/// A list of numbers that is an attribute of either form.
SmallVector<int64_t> numbersOf(Attribute attribute, ArrayRef<int64_t> otherwise) {
  if (auto dense = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    return SmallVector<int64_t>(dense.asArrayRef());
  SmallVector<int64_t> numbers;
  if (auto array = dyn_cast_or_null<ArrayAttr>(attribute)) {
    for (Attribute number : array)
      numbers.push_back(cast<IntegerAttr>(number).getInt());
    return numbers;
  }
  return SmallVector<int64_t>(otherwise);
}

std::string textOf(Operation *op, StringRef name, StringRef otherwise) {
  auto text = op->getAttrOfType<StringAttr>(name);
  return text ? text.str() : otherwise.str();
}

class Describer {
public:
  Describer(exec::ProgramOp program, const OperationNames &names)
      : program(program), module(program->getParentOfType<ModuleOp>()), names(names),
        mesh(module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr)) {
    for (auto buffer : program.getOps<exec::BufferOp>()) {
      if (auto of = buffer->getAttrOfType<FlatSymbolRefAttr>(exec::kStateOfAttr))
        states[{of.getAttr(), buffer->getAttrOfType<StringAttr>(exec::kStateAttr)}] = buffer;
      if (auto of = buffer->getAttrOfType<FlatSymbolRefAttr>(pipe::kOfAttr); of && buffer.getKind() == pipe::BufferKind::Gradient)
        gradients[of.getAttr()] = buffer;
    }
    program.walk([&](exec::UpdateOp update) { updates[update.getParameterAttr().getAttr()] = update; });
  }

  FailureOr<std::string> describe() {
    if (!mesh)
      return module.emitOpError() << "has no dist.mesh";
    json::Array order, afterUpdate;
    if (failed(describeOrder(order, afterUpdate)))
      return failure();
    int64_t stages = 0;
    for (auto other : module.getOps<exec::ProgramOp>())
      stages = std::max<int64_t>(stages, other.getIndex() + 1);
    json::Array inputs = describeInputs();
    json::Object text{
        {"version", 1},
        {"model", textOf(module, "p3d.model", "")},
        {"stage", program.getIndex()},
        {"stages", stages},
        {"target", module->hasAttr(exec::kEventsAttr) ? "cuda" : "cpu"},
        {"events", numberOf(exec::kEventsAttr, 0)},
        {"mesh", json::Object{{"tp", mesh.getTp()}, {"pp", mesh.getPp()}, {"dp", mesh.getDp()}, {"tp_minor", mesh.getTpMinor()}}},
        {"rank_order", textOf(module, "p3d.rank_order", "tp-dp-pp")},
        {"microbatches", mesh.getMb()},
        {"global_batch", numberOf("p3d.global_batch", globalBatch)},
        {"tokens_per_step", numberOf("p3d.tokens_per_step", tokens)},
        {"fingerprint", textOf(module, "p3d.fingerprint", "")},
        {"arena_bytes", static_cast<int64_t>(program.getArenaBytes().value_or(0))},
        {"slots", exec::firstSlotOf(program, program.getSlots().size())},
        {"optimizer", optimizer()},
        {"zero", json::Object{{"offset", static_cast<int64_t>(program.getZeroOffset().value_or(0))},
                              {"bytes", static_cast<int64_t>(program.getZeroBytes().value_or(0))}}},
        {"norm_axes", describeNormAxes()},
        {"tied_groups", describeTiedGroups()},
        {"chunks", static_cast<int64_t>(program.getSlots().size())},
        {"turned_transfers", describeTurnedTransfers()},
        {"params", describeParameters()},
        {"inputs", std::move(inputs)},
        {"results", describeResults()},
        {"slabs", describeSlabs()},
        {"values", describeValues()},
        {"tasks", describeTasks()},
        {"operations", describeOperations()},
        {"order", std::move(order)},
        {"after_update", std::move(afterUpdate)},
    };
    if (int64_t bytes = numberOf(exec::kWorkspaceAttr, 0))
      text["workspace_bytes"] = bytes;
    if (auto bytes = program->getAttrOfType<IntegerAttr>(exec::kRuntimeBytesAttr))
      text["runtime_bytes"] = bytes.getInt();
    if (auto bytes = program->getAttrOfType<DenseI64ArrayAttr>(exec::kStreamScratchAttr))
      text["stream_scratch"] = json::Array(bytes.asArrayRef());
    std::string result;
    llvm::raw_string_ostream stream(result);
    stream << json::Value(std::move(text));
    return result;
  }

private:
  int64_t numberOf(StringRef name, int64_t otherwise) {
    auto number = module->getAttrOfType<IntegerAttr>(name);
    return number ? number.getInt() : otherwise;
  }

  std::string optimizer() {
    std::string name = "none";
    program.walk([&](exec::UpdateOp update) { name = update.getOptimizer().str(); });
    return name;
  }

  RankedTensorType globalType(exec::BufferOp buffer) {
    if (auto global = buffer.getGlobal())
      return cast<RankedTensorType>(*global);
    return RankedTensorType::get(buffer.getMemory().getShape(), buffer.getElement());
  }

  /// Dimensions of a piece; where the argument dropped unit dimensions of the piece, `dimsOfPiece` maps its dimensions to the piece's.
  SmallVector<int64_t> pieceDims(ArrayRef<int64_t> type, ArrayRef<int64_t> piece) {
    SmallVector<int64_t> dims;
    int64_t dim = 0;
    for (int64_t size : type) {
      while (dim + 1 < static_cast<int64_t>(piece.size()) && piece[dim] != size &&
             static_cast<int64_t>(piece.size()) - dim > static_cast<int64_t>(type.size()) - static_cast<int64_t>(dims.size()))
        ++dim;
      dims.push_back(dim++);
    }
    return dims;
  }

  json::Array describeShards(exec::BufferOp buffer, ArrayRef<int64_t> piece) {
    json::Array shards;
    auto sharding = buffer->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    if (!sharding)
      return shards;
    auto dims = pieceDims(globalType(buffer).getShape(), piece);
    for (auto [dim, cut] : llvm::enumerate(sharding.getDims())) {
      json::Array axes;
      for (dist::Axis axis : cut.axes)
        if (axis != dist::Axis::MB)
          axes.push_back(dist::stringifyAxis(axis));
      if (!axes.empty())
        shards.push_back(json::Object{{"dim", dims[dim]}, {"axes", std::move(axes)}, {"chunk", cut.chunk}});
    }
    return shards;
  }

  exec::BufferOp gradientOf(exec::BufferOp parameter) { return gradients.lookup(parameter.getSymNameAttr()); }

  int64_t stateOffset(exec::BufferOp parameter, StringRef part) {
    pipe::ShareAttr share = pipe::shareOf(parameter);
    StringAttr holder = share ? share.getRow().getAttr() : parameter.getSymNameAttr();
    exec::BufferOp state = states.lookup({holder, StringAttr::get(holder.getContext(), part)});
    return state ? static_cast<int64_t>(*state.getOffset()) : -1;
  }

  /// Whether the gradient is the sum over copies on several stages, of which another is counted.
  bool isCountedElsewhere(exec::BufferOp gradient) {
    bool elsewhere = false;
    for (auto stage : gradient ? tiedStages(gradient) : SmallVector<int64_t>())
      elsewhere |= stage < static_cast<int64_t>(program.getIndex());
    return elsewhere;
  }
  SmallVector<int64_t> tiedStages(exec::BufferOp gradient) {
    return numbersOf(gradient->getAttr("pipe.tied_stages"), {});
  }

  json::Object describeInit(exec::BufferOp buffer) {
    auto init = buffer->getAttrOfType<DictionaryAttr>("graph.init");
    json::Object text{{"kind", "normal"}, {"std", 0.02}};
    if (!init)
      return text;
    if (auto kind = dyn_cast_or_null<StringAttr>(init.get("kind")))
      text["kind"] = kind.str();
    if (auto deviation = dyn_cast_or_null<FloatAttr>(init.get("std")))
      text["std"] = deviation.getValueAsDouble();
    return text;
  }

  json::Array describeParameters() {
    json::Array parameters;
    for (auto buffer : program.getOps<exec::BufferOp>()) {
      if (buffer.getKind() != pipe::BufferKind::Parameter || buffer->hasAttr(exec::kStateOfAttr))
        continue;
      auto type = globalType(buffer);
      auto shape = numbersOf(buffer->getAttr(graph::kGlobalShapeAttr), type.getShape());
      auto offset = numbersOf(buffer->getAttr(graph::kPieceOffsetAttr), SmallVector<int64_t>(shape.size(), 0));
      auto piece = numbersOf(buffer->getAttr(graph::kPieceShapeAttr), type.getShape());
      exec::BufferOp gradient = gradientOf(buffer);
      exec::UpdateOp update = updateOf(buffer);
      json::Object parameter{
          {"name", textOf(buffer, graph::kNameAttr, buffer.getSymName())},
          {"role", textOf(buffer, graph::kRoleAttr, "param")},
          {"dtype", typeName(buffer.getElement())},
          {"global_shape", toArray(shape)},
          {"piece_offset", toArray(offset)},
          {"piece_shape", toArray(piece)},
          {"shards", describeShards(buffer, piece)},
          {"offset", static_cast<int64_t>(*buffer.getOffset())},
          {"grad", gradient ? static_cast<int64_t>(*gradient.getOffset()) : -1},
          {"m", stateOffset(buffer, "m")},
          {"v", stateOffset(buffer, "v")},
          {"master", stateOffset(buffer, "master")},
          {"decay", update && update.getDecay()},
          {"counts_in_norm", !isCountedElsewhere(gradient)},
          {"init", describeInit(buffer)},
      };
      if (gradient && !gradient.getElement().isF32())
        parameter["grad_dtype"] = typeName(gradient.getElement());
      if (pipe::ShareAttr share = pipe::shareOf(buffer))
        parameter["share"] = json::Object{{"start", share.getStart()}, {"chunk", share.getChunk()}, {"param", pipe::holdsShare(buffer)}, {"grad", gradient && pipe::holdsShare(gradient)}};
      parameters.push_back(std::move(parameter));
    }
    return parameters;
  }

  /// The ranks over which the norm of the gradient is summed: all that have different elements of it, in any stage.
  json::Array describeNormAxes() {
    json::Array axes{"tp", "pp"};
    bool isSharded = module.walk([](exec::BufferOp buffer) { return WalkResult(success(!pipe::shareOf(buffer))); }).wasInterrupted();
    if (isSharded)
      axes.push_back("dp");
    return axes;
  }

  exec::UpdateOp updateOf(exec::BufferOp parameter) { return updates.lookup(parameter.getSymNameAttr()); }

  /// The dimension that dp (or mb) cuts, or -1.
  int64_t batchDim(exec::BufferOp buffer) {
    if (auto given = buffer->getAttrOfType<IntegerAttr>("graph.batch_dim"))
      return given.getInt();
    auto sharding = buffer->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
    for (auto axis : {dist::Axis::DP, dist::Axis::MB})
      if (sharding && sharding.dimOf(axis) >= 0)
        return sharding.dimOf(axis);
    return -1;
  }

  json::Array describeInputs() {
    json::Array inputs;
    for (auto buffer : program.getOps<exec::BufferOp>()) {
      if (buffer.getKind() != pipe::BufferKind::Input)
        continue;
      auto shape = globalType(buffer).getShape();
      int64_t dim = batchDim(buffer);
      if (dim >= 0) {
        globalBatch = shape[dim];
        int64_t positions = isa<IntegerType>(buffer.getElement()) && shape.size() > 1 ? globalType(buffer).getNumElements() : shape[dim];
        tokens = std::max(tokens, positions);
      }
      auto limit = buffer->getAttrOfType<IntegerAttr>(exec::kIndexLimitAttr);
      inputs.push_back(json::Object{{"name", textOf(buffer, graph::kNameAttr, buffer.getSymName())},
                                    {"dtype", typeName(buffer.getElement())},
                                    {"global_shape", toArray(shape)},
                                    {"batch_dim", dim},
                                    {"offset", static_cast<int64_t>(*buffer.getOffset())},
                                    {"index_limit", limit ? limit.getInt() : 0}});
    }
    return inputs;
  }

  json::Array describeResults() {
    json::Array results;
    for (auto buffer : program.getOps<exec::BufferOp>())
      if (buffer.getKind() == pipe::BufferKind::Result)
        results.push_back(json::Object{{"name", textOf(buffer, graph::kNameAttr, buffer.getSymName())},
                                       {"dtype", typeName(buffer.getElement())},
                                       {"offset", static_cast<int64_t>(*buffer.getOffset())}});
    return results;
  }

  /// Activations whose sharding is known and complete over tp: what a run can show of the inside of a step.
  json::Object describeSlabs() {
    json::Object slabs;
    for (auto slab : program.getOps<exec::SlabOp>())
      slabs[slab.getSymName()] = toArray(slab.getPlaces());
    return slabs;
  }

  json::Array describeValues() {
    json::Array values;
    for (auto buffer : program.getOps<exec::BufferOp>()) {
      auto sharding = buffer->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
      if (buffer.getKind() != pipe::BufferKind::Activation || !sharding || !sharding.getUnreduced().empty())
        continue;
      SmallVector<int64_t> shape(buffer.getMemory().getShape());
      json::Array shards;
      for (auto [dim, cut] : llvm::enumerate(sharding.getDims())) {
        json::Array axes;
        for (dist::Axis axis : cut.axes) {
          axes.push_back(dist::stringifyAxis(axis));
          shape[dim] *= mesh.getSize(axis);
        }
        if (!axes.empty())
          shards.push_back(json::Object{{"dim", dim}, {"axes", std::move(axes)}});
      }
      values.push_back(json::Object{{"name", buffer.getSymName()},
                                    {"dtype", typeName(buffer.getElement())},
                                    {"padded_shape", toArray(shape)},
                                    {"shards", std::move(shards)},
                                    {"task", exec::taskName(pipe::TaskKind::Forward, pipe::chunkOf(buffer))},
                                    {"offset", static_cast<int64_t>(*buffer.getOffset())},
                                    {"slab", buffer.getSlab().value_or("")}});
    }
    return values;
  }

  json::Array describeTasks() {
    json::Array tasks;
    for (exec::TaskOp task : runnableTasks(program))
      tasks.push_back(exec::nameOf(task));
    return tasks;
  }

  /// The channels of transfers that go against the direction of their pass.
  json::Array describeTurnedTransfers() {
    std::set<int64_t> channels;
    program.walk([&](Operation *op) {
      if (isa<exec::SendOp, exec::RecvOp>(op) && exec::isTurned(op))
        channels.insert(isa<exec::SendOp>(op) ? cast<exec::SendOp>(op).getChannel() : cast<exec::RecvOp>(op).getChannel());
    });
    return json::Array(channels);
  }

  json::Array describeOperations() {
    json::Array operations;
    for (auto &[name, number] : names)
      operations.push_back(name);
    return operations;
  }

  /// All tied groups of the module by their number; a group's stages stand in its all_reduce's program.
  json::Array describeTiedGroups() {
    std::map<int64_t, json::Array> groups;
    for (auto other : module.getOps<exec::ProgramOp>())
      other.walk([&](exec::AllReduceOp reduce) {
        if (reduce.getGroup() == exec::Group::Tied)
          groups[reduce.getNumber()].push_back(static_cast<int64_t>(other.getIndex()));
      });
    json::Array result;
    for (auto &[number, stages] : groups) {
      while (static_cast<int64_t>(result.size()) < number)
        result.push_back(json::Object{{"stages", json::Array()}});
      result.push_back(json::Object{{"stages", std::move(stages)}});
    }
    return result;
  }

  /// Actions as [task, microbatch, slot]; actions without commands are left out. The update itself is the runtime's; what its task has comes after.
  LogicalResult describeOrder(json::Array &order, json::Array &afterUpdate) {
    auto tasks = runnableTasks(program);
    for (Attribute attribute : program.getOrder() ? program.getOrder()->getValue() : ArrayRef<Attribute>()) {
      StringRef text = cast<StringAttr>(attribute).getValue();
      std::optional<exec::Action> action = exec::parseAction(program, text);
      if (!action)
        return program.emitOpError() << "has an action '" << text << "'; expected P, F<n>, B<n>, W<n>, S or U, with .<chunk> behind n of another chunk than the first";
      auto *task = llvm::find_if(tasks, [&](exec::TaskOp task) { return task.getKind() == action->kind && int64_t(task.getChunk()) == action->chunk; });
      if (task != tasks.end())
        (action->kind == pipe::TaskKind::Update ? afterUpdate : order)
            .push_back(json::Array{static_cast<int64_t>(task - tasks.begin()), action->microbatch, exec::slotOf(program, *action)});
    }
    return success();
  }

  exec::ProgramOp program;
  ModuleOp module;
  const OperationNames &names;
  dist::MeshAttr mesh;
  DenseMap<std::pair<StringAttr, StringAttr>, exec::BufferOp> states; ///< by the parameter and which part of its state
  DenseMap<StringAttr, exec::BufferOp> gradients;                     ///< by the parameter
  DenseMap<StringAttr, exec::UpdateOp> updates;                       ///< by the parameter
  int64_t globalBatch = 0, tokens = 0;
};
} // namespace

SmallVector<exec::TaskOp> p3d::lower::runnableTasks(exec::ProgramOp program) {
  SmallVector<exec::TaskOp> tasks;
  for (auto task : program.getOps<exec::TaskOp>())
    if (llvm::any_of(task.getBody().front(), [](Operation &op) { return isa<exec::Command>(op); }))
      tasks.push_back(task);
  return tasks;
}

FailureOr<std::string> p3d::lower::describeProgram(exec::ProgramOp program, const OperationNames &names) {
  return Describer(program, names).describe();
}
