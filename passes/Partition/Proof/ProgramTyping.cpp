// Walks a program and its blocks in order. A block is typed once for each list of types that calls give it, mostly one.
#include "passes/Partition/Proof/ProgramTyping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Partition/Proof/OpTyping.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::partition;
using namespace p3d::partition::proof;
using graph::tensorType;

namespace {
constexpr StringLiteral kPrologueAttr = "graph.prologue";

/// Whether a block's `sharding` says of `type` what it is; whole sizes are the caller's.
bool agrees(dist::ShardingAttr sharding, const ValueType &type, dist::MeshAttr mesh) {
  SmallVector<int64_t> full = llvm::map_to_vector(type.dims, [](const DimType &dim) { return dim.full; });
  return sharding.getDims().size() == full.size() && declaredType(sharding, full, mesh).liesAs(type);
}

class ProgramTyper {
public:
  ProgramTyper(graph::ProgramOp program, dist::MeshAttr mesh)
      : program(program), mesh(mesh), symbols(program->getParentOfType<ModuleOp>()) {}

  LogicalResult run() {
    for (auto [i, argument] : llvm::enumerate(program.getBody().getArguments())) {
      auto type = readDeclared(program, ("argument " + Twine(i)).str(), program.getArgAttr(i, dist::kShardingAttr),
                               program.getArgAttr(i, dist::kGlobalTypeAttr), tensorType(argument), mesh);
      if (failed(type))
        return failure();
      arguments.push_back(std::move(*type));
      auto name = program.getArgAttrOfType<StringAttr>(i, graph::kNameAttr);
      if (name && name.getValue().starts_with("params."))
        parameters[name.getValue().drop_front(7)] = argument;
    }
    auto results = typeBody(program, arguments);
    return failed(results) ? failure() : checkResults(*results);
  }

private:
  using Types = SmallVector<ValueType, 0>;

  /// The types of what `function` yields.
  FailureOr<Types> typeBody(FunctionOpInterface function, ArrayRef<ValueType> arguments) {
    Block &body = function.getFunctionBody().front();
    llvm::DenseMap<Value, ValueType> types;
    for (auto [argument, type] : llvm::zip_equal(body.getArguments(), arguments))
      types[argument] = type;
    bool isPrologue = function->hasAttr(kPrologueAttr);
    for (Operation &op : body) {
      SmallVector<ValueType> copies = llvm::map_to_vector(op.getOperands(), [&](Value value) { return types[value]; });
      if (op.hasTrait<OpTrait::IsTerminator>())
        return Types(copies.begin(), copies.end());
      SmallVector<const ValueType *> operands =
          llvm::map_to_vector(copies, [](const ValueType &type) { return &type; });
      auto results = typeAny(&op, operands);
      if (failed(results))
        return failure();
      for (auto [value, type] : llvm::zip_equal(op.getResults(), *results)) {
        if (isPrologue && type.variesOver(dist::Axis::MB))
          return op.emitOpError() << "makes " << describe(type)
                                  << " in a block that runs once a step; microbatches are not known there";
        types[value] = std::move(type);
      }
    }
    llvm_unreachable("a body ends in a terminator");
  }

  FailureOr<Types> typeAny(Operation *op, OperandTypes operands) {
    if (auto call = dyn_cast<graph::CallOp>(op))
      return typeCall(call, operands);
    if (auto update = dyn_cast<graph::UpdateOp>(op))
      return failed(checkUpdate(update, *operands[0], *operands[1])) ? FailureOr<Types>() : Types();
    auto results = typeOp(op, operands, mesh);
    if (failed(results))
      return failure();
    return Types(std::make_move_iterator(results->begin()), std::make_move_iterator(results->end()));
  }

  FailureOr<Types> typeCall(graph::CallOp call, OperandTypes operands) {
    auto block = symbols.lookup<graph::BlockOp>(call.getCallee());
    Types arguments(llvm::map_range(operands, [](const ValueType *type) { return *type; }));
    for (auto [i, type] : llvm::enumerate(arguments)) {
      if (block->hasAttr(kPrologueAttr) && type.variesOver(dist::Axis::MB))
        return refuseOperand(call, i, type) << "calls @" << call.getCallee() << ", which runs once a step, on operand "
                                            << i << " of one microbatch; give it the replica's whole batch";
      auto declared = dyn_cast_or_null<dist::ShardingAttr>(block.getArgAttr(i, dist::kShardingAttr));
      if (declared && !agrees(declared, type, mesh))
        return refuseOperand(call, i, type)
               << "gives argument " << i << " of @" << call.getCallee() << ", declared " << declared
               << ", a value that is " << describe(type) << "; move it before, or mend the block's dist.sharding";
    }
    for (auto &[types, results] : blocks[block])
      if (llvm::equal(types, arguments,
                      [](const ValueType &a, const ValueType &b) { return a.liesAs(b) && samePadding(a, b); }))
        return results;
    auto results = typeBody(block, arguments);
    if (failed(results))
      return failure();
    for (auto [i, type] : llvm::enumerate(*results)) {
      auto declared = dyn_cast_or_null<dist::ShardingAttr>(block.getResultAttr(i, dist::kShardingAttr));
      if (declared && !agrees(declared, type, mesh))
        return block.emitOpError() << "declares result " << i << " " << declared << ", but it is " << describe(type)
                                   << "; move it before the yield, or mend its dist.sharding";
    }
    blocks[block].push_back({std::move(arguments), *results});
    return results;
  }

  static bool samePadding(const ValueType &a, const ValueType &b) {
    return llvm::equal(a.dims, b.dims, [](const DimType &x, const DimType &y) { return x.padding == y.padding; });
  }

  static InFlightDiagnostic refuseOperand(Operation *op, unsigned number, const ValueType &type) {
    InFlightDiagnostic error = op->emitOpError();
    noteOperand(error, op, number, type);
    return error;
  }

  LogicalResult checkUpdate(graph::UpdateOp update, const ValueType &parameter, const ValueType &gradient) {
    if (failed(checkGradient(update, "operand 1", update.getGradient(), parameter, gradient)))
      return failure();
    gradients[update.getParameter()] = {update, gradient};
    return success();
  }

  /// A gradient lies as its parameter. It is added up over microbatches, then over tp and dp where it is declared
  /// partial.
  LogicalResult checkGradient(Operation *op, StringRef what, Value value, const ValueType &parameter,
                              const ValueType &gradient) {
    ValueType complete = gradient;
    complete.partial = {};
    auto refuse = [&] {
      InFlightDiagnostic error = op->emitOpError();
      error.attachNote(value.getLoc()) << "the gradient is " << describe(gradient);
      return error;
    };
    if (!complete.liesAs(parameter))
      return refuse() << what << ", a gradient, is " << describe(gradient) << ", its parameter " << describe(parameter)
                      << "; a gradient lies as its parameter: move it before";
    for (dist::Axis axis : kAxes)
      if (auto kind = gradient.partialOver(axis); kind && *kind != dist::ReduceKind::Sum)
        return refuse() << what << ", a gradient, is a partial " << dist::stringifyReduceKind(*kind) << " over "
                        << dist::stringifyAxis(axis)
                        << "; only sums are completed after the last microbatch: complete it before";
    if (mesh.getMb() > 1 && !gradient.partialOver(dist::Axis::MB) && !matchPattern(value, m_AnyZeroFloat()))
      return refuse() << what << ", a gradient, is complete over mb, and would be added once for each of "
                      << mesh.getMb() << " microbatches; leave it a sum over the batch";
    for (auto [d, dim] : llvm::enumerate(gradient.dims))
      if (dim.isCut() && dim.isUneven(mesh) && dim.padding != 0.0)
        return refuse() << what << ", a gradient, has anything beyond the end of dimension " << d << ", "
                        << describe(dim) << ", which would count in its norm; set it to 0 before by dist.mask_padding";
    return success();
  }

  LogicalResult checkResults(ArrayRef<ValueType> results) {
    Operation *yield = program.getBody().front().getTerminator();
    for (auto [i, type] : llvm::enumerate(results)) {
      std::string what = ("result " + Twine(i)).str();
      auto declared =
          readDeclared(program, what, program.getResultAttr(i, dist::kShardingAttr),
                       program.getResultAttr(i, dist::kGlobalTypeAttr), tensorType(yield->getOperand(i)), mesh);
      if (failed(declared))
        return failure();
      if (!declared->liesAs(type)) {
        InFlightDiagnostic error = program.emitOpError();
        error.attachNote(yield->getOperand(i).getLoc()) << "the result is made here";
        return error << what << " is declared " << describe(*declared) << ", but is " << describe(type)
                     << "; move it before, or mend its dist.sharding";
      }
      if (failed(checkReturnedGradient(i, type)))
        return failure();
    }
    return success();
  }

  /// Result `grads.NAME` is the gradient of argument `params.NAME`, and what its update gets.
  LogicalResult checkReturnedGradient(unsigned index, const ValueType &type) {
    auto name = program.getResultAttrOfType<StringAttr>(index, graph::kNameAttr);
    StringRef rest = name ? name.getValue() : "";
    if (!rest.consume_front("grads."))
      return success();
    auto found = parameters.find(rest);
    if (found == parameters.end())
      return success();
    Value value = program.getBody().front().getTerminator()->getOperand(index), parameter = found->second;
    auto update = gradients.find(parameter);
    if (update != gradients.end() && !update->second.second.liesAs(type))
      return update->second.first->emitOpError()
             << "gets a gradient that is " << describe(update->second.second) << ", but result " << index
             << ", which is completed for it, is " << describe(type) << "; return what is updated with";
    return checkGradient(program, ("result " + Twine(index)).str(), value,
                         arguments[cast<BlockArgument>(parameter).getArgNumber()], type);
  }

  graph::ProgramOp program;
  dist::MeshAttr mesh;
  SymbolTable symbols;
  SmallVector<ValueType, 0> arguments; ///< of the program
  llvm::StringMap<Value> parameters;   ///< arguments `params.NAME`, by NAME
  llvm::DenseMap<Value, std::pair<Operation *, ValueType>>
      gradients; ///< of each argument its update and what that gets
  llvm::DenseMap<Operation *, SmallVector<std::pair<Types, Types>>> blocks;
};
} // namespace

LogicalResult proof::proveProgram(graph::ProgramOp program, dist::MeshAttr mesh) {
  return ProgramTyper(program, mesh).run();
}
