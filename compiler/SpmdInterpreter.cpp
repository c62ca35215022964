#include "compiler/SpmdInterpreter.h"
#include "compiler/SpmdLayout.h"
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <deque>

using namespace mlir;
using namespace p3d;
using namespace p3d::spmd;
using graph::Tensor;
using graph::Tensors;

namespace {
/// One tensor for each rank.
using Ranks = std::vector<Tensor>;
using Operands = ArrayRef<const Ranks *>;

graph::ReduceKind kindOf(dist::ReduceKind kind) { return graph::ReduceKind(uint32_t(kind)); }

/// Evaluates the functions of one module for one microbatch.
class Interpreter {
public:
  Interpreter(dist::MeshAttr mesh, int64_t microbatch) : mesh(mesh), microbatch(microbatch) {}

  FailureOr<std::vector<Ranks>> run(FunctionOpInterface function, Operands inputs);

private:
  FailureOr<std::vector<Ranks>> step(Operation &op, Operands operands);
  FailureOr<std::vector<Ranks>> evaluateOnEach(Operation &op, Operands operands);
  LogicalResult checkAxis(Operation *op, dist::Axis axis);

  Place placeOf(size_t rank) const { return Place::ofRank(rank, microbatch, mesh); }
  Ranks onEach(llvm::function_ref<Tensor(size_t)> make) const {
    Ranks made;
    for (size_t rank = 0, n = ranksOf(mesh); rank < n; ++rank)
      made.push_back(make(rank));
    return made;
  }
  Tensor reduced(const Ranks &values, size_t rank, dist::Axis axis, dist::ReduceKind kind) const;
  Tensor gathered(const Ranks &values, size_t rank, dist::Axis axis, int64_t dim, int64_t size) const;
  /// Rows of `dim` that rank `rank` holds of `whole`; 0 beyond the end.
  Tensor sliced(const Tensor &whole, size_t rank, dist::Axis axis, int64_t dim, Value result) const {
    int64_t chunk = graph::tensorType(result).getDimSize(dim);
    return rowsOf(whole, dim, placeOf(rank).indexOn(axis, mesh) * chunk, chunk);
  }

  dist::MeshAttr mesh;
  int64_t microbatch;
  SymbolTableCollection symbols;
};
} // namespace

Tensor Interpreter::reduced(const Ranks &values, size_t rank, dist::Axis axis, dist::ReduceKind kind) const {
  SmallVector<size_t> peers = peersOf(rank, axis, mesh);
  Tensor sum = values[peers.front()];
  for (size_t peer : ArrayRef(peers).drop_front())
    combineInto(sum, values[peer], kindOf(kind));
  return sum;
}

Tensor Interpreter::gathered(const Ranks &values, size_t rank, dist::Axis axis, int64_t dim, int64_t size) const {
  SmallVector<int64_t> shape = values[rank].shape;
  int64_t chunk = shape[dim];
  shape[dim] = size;
  Tensor whole(shape, values[rank].elementType);
  for (auto [i, peer] : llvm::enumerate(peersOf(rank, axis, mesh)))
    placeRows(whole, dim, i * chunk, values[peer]);
  return whole;
}

LogicalResult Interpreter::checkAxis(Operation *op, dist::Axis axis) {
  if (axis != dist::Axis::MB)
    return success();
  return op->emitOpError() << "moves values between microbatches, which are turns of one program; only their results are reduced";
}

/// Operations that every rank executes for itself.
FailureOr<std::vector<Ranks>> Interpreter::evaluateOnEach(Operation &op, Operands operands) {
  std::vector<Ranks> results(op.getNumResults());
  auto shard = op.getAttrOfType<dist::ShardAttr>(dist::kShardAttr);
  for (size_t rank = 0, n = ranksOf(mesh); rank < n; ++rank) {
    SmallVector<const Tensor *> pointers;
    for (const Ranks *operand : operands)
      pointers.push_back(&(*operand)[rank]);
    graph::ShardPosition position;
    if (shard)
      position = {shard.getDim(), placeOf(rank).indexOn(shard.getAxes(), mesh) * shard.getChunk(), shard.getFull()};
    FailureOr<Tensors> made = evaluate(&op, pointers, shard ? &position : nullptr);
    if (failed(made))
      return failure();
    for (auto [result, tensor] : llvm::zip(results, *made))
      result.push_back(std::move(tensor));
  }
  return results;
}

FailureOr<std::vector<Ranks>> Interpreter::step(Operation &op, Operands operands) {
  using Results = FailureOr<std::vector<Ranks>>;
  auto single = [](Ranks ranks) -> Results { return std::vector<Ranks>{std::move(ranks)}; };
  return TypeSwitch<Operation *, Results>(&op)
      .Case([&](graph::UpdateOp) { return Results(std::vector<Ranks>()); })
      .Case([&](graph::CallOp call) { return run(symbols.lookupNearestSymbolFrom<graph::BlockOp>(call, call.getCalleeAttr()), operands); })
      .Case([&](dist::AllReduceOp op) -> Results {
        if (failed(checkAxis(op, op.getAxis())))
          return failure();
        return single(onEach([&](size_t rank) { return reduced(*operands[0], rank, op.getAxis(), op.getKind()); }));
      })
      .Case([&](dist::ReduceScatterOp op) -> Results {
        if (failed(checkAxis(op, op.getAxis())))
          return failure();
        return single(onEach([&](size_t rank) {
          return sliced(reduced(*operands[0], rank, op.getAxis(), op.getKind()), rank, op.getAxis(), op.getDim(), op.getResult());
        }));
      })
      .Case([&](dist::AllGatherOp op) -> Results {
        if (failed(checkAxis(op, op.getAxis())))
          return failure();
        int64_t size = graph::tensorType(op.getResult()).getDimSize(op.getDim());
        return single(onEach([&](size_t rank) { return gathered(*operands[0], rank, op.getAxis(), op.getDim(), size); }));
      })
      .Case([&](dist::AllToAllOp op) -> Results {
        if (failed(checkAxis(op, op.getAxis())))
          return failure();
        int64_t size = graph::tensorType(op.getResult()).getDimSize(op.getGatherDim());
        return single(onEach([&](size_t rank) {
          return sliced(gathered(*operands[0], rank, op.getAxis(), op.getGatherDim(), size), rank, op.getAxis(), op.getSplitDim(), op.getResult());
        }));
      })
      .Case([&](dist::ShardSliceOp op) {
        return single(onEach([&](size_t rank) { return sliced((*operands[0])[rank], rank, op.getAxis(), op.getDim(), op.getResult()); }));
      })
      .Case([&](dist::MaskPaddingOp op) {
        dist::ShardAttr shard = op.getShard();
        return single(onEach([&](size_t rank) {
          int64_t start = placeOf(rank).indexOn(shard.getAxes(), mesh) * shard.getChunk();
          Tensor tensor = (*operands[0])[rank];
          fillRows(tensor, shard.getDim(), shard.getFull() - start, op.getValue().convertToDouble());
          return tensor;
        }));
      })
      .Default([&](Operation *op) { return evaluateOnEach(*op, operands); });
}

FailureOr<std::vector<Ranks>> Interpreter::run(FunctionOpInterface function, Operands inputs) {
  std::deque<std::vector<Ranks>> owned;
  DenseMap<Value, const Ranks *> frame;
  for (auto [argument, input] : llvm::zip(function.getArguments(), inputs))
    frame[argument] = input;
  for (Operation &op : function.getFunctionBody().front().without_terminator()) {
    SmallVector<const Ranks *> operands = llvm::map_to_vector(op.getOperands(), [&](Value value) { return frame.lookup(value); });
    FailureOr<std::vector<Ranks>> results = step(op, operands);
    if (failed(results))
      return failure();
    owned.push_back(std::move(*results));
    for (auto [value, ranks] : llvm::zip(op.getResults(), owned.back()))
      frame[value] = &ranks;
  }
  std::vector<Ranks> results;
  for (Value value : function.getFunctionBody().front().getTerminator()->getOperands())
    results.push_back(*frame.lookup(value));
  return results;
}

namespace {
/// Emits an error unless `inputs` are what the arguments of `program` were before partitioning.
LogicalResult checkInputs(graph::ProgramOp program, ArrayRef<Tensor> inputs) {
  if (inputs.size() != program.getNumArguments())
    return program.emitOpError() << "is given " << inputs.size() << " inputs, expected " << program.getNumArguments();
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto type = program.getArgAttrOfType<TypeAttr>(i, dist::kGlobalTypeAttr);
    if (!type || !program.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr))
      return program.emitOpError() << "argument " << i << " has no sharding and whole type; run p3d-partition first";
    if (input.type() != type.getValue())
      return program.emitOpError() << "argument " << i << " of whole type " << type.getValue() << " is given " << input.type();
  }
  return success();
}

Location placeOfResult(graph::ProgramOp program, unsigned index) {
  return program.getBody().front().getTerminator()->getOperand(index).getLoc();
}

std::string nameOfResult(graph::ProgramOp program, unsigned index) {
  auto name = program.getResultAttrOfType<StringAttr>(index, graph::kNameAttr);
  return name ? name.str() : "result " + std::to_string(index);
}
} // namespace

FailureOr<Tensors> p3d::interpretSpmd(ModuleOp module, ArrayRef<Tensor> inputs) {
  auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  auto programs = module.getOps<graph::ProgramOp>();
  if (!mesh || programs.empty())
    return module.emitError() << "has no mesh or no program; run p3d-partition first";
  graph::ProgramOp program = *programs.begin();
  if (failed(checkInputs(program, inputs)))
    return failure();
  std::vector<Assembly> assemblies;
  for (unsigned i = 0; i < program.getNumResults(); ++i)
    assemblies.emplace_back(cast<RankedTensorType>(program.getResultAttrOfType<TypeAttr>(i, dist::kGlobalTypeAttr).getValue()),
                            program.getResultAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr), mesh);
  for (int64_t microbatch = 0; microbatch < mesh.getMb(); ++microbatch) {
    std::vector<Ranks> shards;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      auto sharding = program.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr);
      Ranks &ranks = shards.emplace_back();
      for (size_t rank = 0, n = ranksOf(mesh); rank < n; ++rank)
        ranks.push_back(shardOf(input, sharding, Place::ofRank(rank, microbatch, mesh), mesh));
    }
    SmallVector<const Ranks *> pointers = llvm::map_to_vector(shards, [](const Ranks &ranks) { return &ranks; });
    auto results = Interpreter(mesh, microbatch).run(program, pointers);
    if (failed(results))
      return failure();
    for (auto [i, result] : llvm::enumerate(*results))
      for (auto [rank, tensor] : llvm::enumerate(result))
        assemblies[i].add(Place::ofRank(rank, microbatch, mesh), std::move(tensor));
  }
  Tensors wholes;
  for (auto [i, assembly] : llvm::enumerate(assemblies)) {
    std::string name = nameOfResult(program, i);
    bool isGradient = StringRef(name).starts_with("grads.");
    if (std::optional<std::string> fault = assembly.finish(/*isPaddedWithZeros=*/isGradient))
      return emitError(placeOfResult(program, i)) << name << " " << *fault;
    wholes.push_back(std::move(assembly.whole));
  }
  return wholes;
}
