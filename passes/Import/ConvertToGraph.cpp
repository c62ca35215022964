// Translates the one function of the module to graph.program @loss, operation by operation through the table of converters.
#include "passes/Import/Annotations.h"
#include "passes/Import/Passes.h"
#include "passes/Import/ProgramArguments.h"
#include "passes/Import/Translation.h"
#include "passes/Support/Signature.h"

namespace p3d {
#define GEN_PASS_DEF_CONVERTTOGRAPH
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

ConverterTable::ConverterTable() {
  addElementwiseConverters(*this);
  addShapeConverters(*this);
  addContractionConverters(*this);
  addReductionConverters(*this);
  addIndexingConverters(*this);
  addAnnotationConverters(*this);
}

namespace {


class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp function, const RolePatterns &patterns) : function(function), patterns(patterns) {}

  LogicalResult run() {
    OpBuilder builder(function);
    auto program = builder.create<graph::ProgramOp>(function.getLoc(), "loss", function.getFunctionType());
    if (failed(describeArguments(program)))
      return failure();
    describeResults(program);
    builder.setInsertionPointToStart(&program.getBody().front());
    if (failed(translateBody(program, builder)))
      return failure();
    function.erase();
    return success();
  }

private:
  LogicalResult describeArguments(graph::ProgramOp program) {
    SmallVector<std::string> names = argumentNames(function);
    FailureOr<SmallVector<std::string>> roles = argumentRoles(function, names, patterns);
    if (failed(roles))
      return failure();
    Builder b(function.getContext());
    LogicalResult read = success();
    editArgumentAttributes(program, [&](unsigned i, NamedAttrList &attributes) {
      attributes.set(graph::kNameAttr, b.getStringAttr(names[i]));
      if (!(*roles)[i].empty())
        attributes.set(graph::kRoleAttr, b.getStringAttr((*roles)[i]));
      auto sharding = import::readAnnotation(moduleOf(), function.getArgument(i).getLoc(), function.getArgAttrDict(i), function.getArgument(i).getType(), /*isConstraint=*/false);
      if (failed(sharding))
        read = failure();
      else if (*sharding)
        attributes.set(graph::kUserShardingAttr, *sharding);
      program.getBody().getArgument(i).setLoc(function.getArgument(i).getLoc());
    });
    return read;
  }

  void describeResults(graph::ProgramOp program) {
    Builder b(function.getContext());
    SmallVector<std::string> names = resultNames(function);
    editResultAttributes(program, [&](unsigned i, NamedAttrList &attributes) { attributes.set(graph::kNameAttr, b.getStringAttr(names[i])); });
  }

  LogicalResult translateBody(graph::ProgramOp program, OpBuilder &builder) {
    Translation translation(builder);
    ConverterTable table;
    for (auto [from, to] : llvm::zip(function.getArguments(), program.getBody().getArguments()))
      translation.bind(from, to);
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator()) {
      const Converter *convert = table.lookup(&op);
      if (!convert)
        return op.emitOpError() << "has no translation to the graph dialect";
      if (failed((*convert)(&op, translation)) || failed(constrainResults(&op, translation)))
        return failure();
    }
    SmallVector<Value> results;
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      if (failed(constrain(body.getTerminator()->getLoc(), value, function.getResultAttrDict(i), /*isConstraint=*/false, translation)))
        return failure();
      results.push_back(translation.get(value));
    }
    builder.create<graph::YieldOp>(body.getTerminator()->getLoc(), results);
    return success();
  }

  ModuleOp moduleOf() { return function->getParentOfType<ModuleOp>(); }

  /// What annotations of an operation say of its results.
  LogicalResult constrainResults(Operation *op, Translation &translation) {
    if (isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op))
      return success();
    auto call = dyn_cast<stablehlo::CustomCallOp>(op);
    bool isConstraint = call && call.getCallTargetName() == "Sharding";
    auto perValue = op->getAttrOfType<sdy::TensorShardingPerValueAttr>("sdy.sharding");
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      DictionaryAttr attributes = op->getDiscardableAttrDictionary();
      if (perValue && i < perValue.getShardings().size())
        attributes = Builder(op).getDictionaryAttr(Builder(op).getNamedAttr("sdy.sharding", perValue.getShardings()[i]));
      if (failed(constrain(op->getLoc(), result, attributes, isConstraint, translation)))
        return failure();
    }
    return success();
  }

  LogicalResult constrain(Location location, Value value, DictionaryAttr attributes, bool isConstraint, Translation &translation) {
    auto sharding = import::readAnnotation(moduleOf(), location, attributes, value.getType(), isConstraint);
    if (failed(sharding))
      return failure();
    if (*sharding && !sharding->getDimShardings().empty()) {
      Value operand = translation.get(value);
      translation.bind(value, translation.create<graph::ConstrainOp>(location, operand.getType(), operand, *sharding));
    }
    return success();
  }

  func::FuncOp function;
  const RolePatterns &patterns;
};

struct ConvertToGraphPass : p3d::impl::ConvertToGraphBase<ConvertToGraphPass> {
  using ConvertToGraphBase::ConvertToGraphBase;
  void runOnOperation() override {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (functions.size() != 1) {
      getOperation().emitError() << "has " << functions.size() << " functions; expected one, with its calls inlined";
      return signalPassFailure();
    }
    RolePatterns patterns{params, inputs, freeze};
    if (failed(ProgramBuilder(functions.front(), patterns).run()))
      return signalPassFailure();
    // Meshes that another partitioner would have read; what they say of arguments is kept on the arguments.
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (!isa<graph::ProgramOp>(op))
        op.erase();
  }
};

} // namespace
