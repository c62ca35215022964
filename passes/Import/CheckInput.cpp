// The one place where a module is refused as a whole: what it is instead of a loss function, and every operation that import does not take.
#include "passes/Import/Passes.h"
#include "passes/Import/Translation.h"
#include "llvm/ADT/MapVector.h"

namespace p3d {
#define GEN_PASS_DEF_CHECKINPUT
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// Operations and custom calls that only programs partitioned by another tool contain.
bool isPartitioned(Operation *op) {
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
    return llvm::is_contained({"SPMDFullToShardShape", "SPMDShardToFullShape"}, call.getCallTargetName());
  return llvm::is_contained({"stablehlo.all_reduce", "stablehlo.all_gather", "stablehlo.reduce_scatter", "stablehlo.all_to_all",
                             "stablehlo.collective_permute", "stablehlo.collective_broadcast", "stablehlo.collective_reduce",
                             "stablehlo.partition_id", "stablehlo.replica_id", "sdy.manual_computation"},
                            op->getName().getStringRef());
}

/// Operations that carry structure and are gone before the translation.
bool isStructure(Operation *op) {
  return isa<ModuleOp, func::FuncOp, func::ReturnOp, func::CallOp, stablehlo::CompositeOp, stablehlo::WhileOp, stablehlo::IfOp,
             stablehlo::CaseOp, stablehlo::ReturnOp>(op) ||
         op->getName().getStringRef() == "sdy.mesh";
}

class InputChecker {
public:
  InputChecker(ModuleOp module, bool allowNonScalar) : module(module), allowNonScalar(allowNonScalar) {}

  LogicalResult check() {
    // From what the module is as a whole to its details: only the first error is printed.
    if (failed(checkDialect()) || failed(checkPartitioned()) || failed(findEntry()) || failed(checkTrainStep()) ||
        failed(checkShapes()) || failed(checkOperations()))
      return failure();
    return allowNonScalar ? success() : checkLoss();
  }

private:
  LogicalResult checkDialect() {
    WalkResult walk = module.walk([](Operation *op) {
      if (!op->getName().getStringRef().starts_with("mhlo."))
        return WalkResult::advance();
      op->emitError() << "'" << op->getName() << "' is of the dialect mhlo, which StableHLO has replaced; export the model as StableHLO "
                      << "text, with jax.jit(loss).lower(...).as_text() or torch_xla's exporter";
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }

  LogicalResult checkPartitioned() {
    WalkResult walk = module.walk<WalkOrder::PreOrder>([](Operation *op) {
      if (!isPartitioned(op))
        return WalkResult::advance();
      op->emitError() << "'" << op->getName() << "': the module is partitioned already (by shard_map, pmap or another partitioner); export the "
                      << "loss function without it, in global shapes, and give the mesh to p3dc";
      return WalkResult::interrupt();
    });
    return failure(walk.wasInterrupted());
  }

  LogicalResult findEntry() {
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && !function.isDeclaration())
        entries.push_back(function);
    if (entries.size() > 1)
      llvm::erase_if(entries, [](func::FuncOp function) { return function.getName() != "main"; });
    if (entries.size() != 1)
      return module.emitError() << "the module has " << (entries.empty() ? "no" : "several")
                                << " public functions; expected one, the loss of (parameters, batch)";
    entry = entries.front();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function != entry && function.isPublic())
        function.setPrivate();
    if (!llvm::hasSingleElement(entry.getBody()))
      return entry.emitError() << "function '" << entry.getName() << "' has several blocks; expected one";
    return success();
  }

  /// Whether a result is an argument plus or minus something: an updated parameter.
  static bool isUpdate(Value result) {
    Operation *op = result.getDefiningOp();
    if (!isa_and_nonnull<stablehlo::AddOp, stablehlo::SubtractOp>(op) || !isa<FloatType>(getElementTypeOrSelf(result.getType())))
      return false;
    return llvm::any_of(op->getOperands(), [](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
    });
  }

  /// A training step returns its updated state: by donated arguments, or as most of its results.
  LogicalResult checkTrainStep() {
    auto advise = [&](Location loc, const Twine &why) {
      return emitError(loc) << "the module is a training step: " << why
                            << "; p3dc builds the backward pass and the optimizer itself: export the loss function alone, "
                            << "jax.jit(loss).lower(params, batch)";
    };
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      for (StringRef name : {"tf.aliasing_output", "jax.buffer_donor"})
        if (entry.getArgAttr(i, name))
          return advise(entry.getArgument(i).getLoc(), "argument " + Twine(i) + " has the attribute '" + name + "'");
    if (entry.getNumResults() < 2 || isScalarFloat(entry.getResultTypes()[0]))
      return success();
    size_t updates = llvm::count_if(entry.getBody().front().getTerminator()->getOperands(), isUpdate);
    if (2 * updates > entry.getNumResults())
      return advise(entry.getLoc(), Twine(updates) + " of its " + Twine(entry.getNumResults()) + " results are arguments plus or minus something");
    return success();
  }

  LogicalResult checkShapes() {
    WalkResult walk = module.walk([&](Operation *op) {
      for (Type type : llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
        if (auto shaped = dyn_cast<ShapedType>(type); shaped && !shaped.hasStaticShape()) {
          op->emitError() << "'" << op->getName() << "' has the dynamic shape " << type << "; export with fixed sizes of batch and sequence";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    for (BlockArgument argument : entry.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || !type.hasStaticShape())
        return emitError(argument.getLoc()) << "argument " << argument.getArgNumber() << " has the type " << argument.getType()
                                            << "; expected a tensor of static shape";
    }
    return failure(walk.wasInterrupted());
  }

  LogicalResult checkOperations() {
    ConverterTable table;
    llvm::MapVector<StringRef, SmallVector<Operation *>> unsupported;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto call = dyn_cast<stablehlo::CustomCallOp>(op);
      if (call && !isKnownCustomCall(call.getCallTargetName()))
        unsupported[StringAttr::get(op->getContext(), "custom_call @" + call.getCallTargetName()).getValue()].push_back(op);
      else if (!isStructure(op) && !table.lookup(op))
        unsupported[op->getName().getStringRef()].push_back(op);
      // The regions of reductions, sorts and scatters belong to their operation.
      return isStructure(op) ? WalkResult::advance() : WalkResult::skip();
    });
    if (unsupported.empty())
      return success();
    size_t total = 0;
    for (auto &entry : unsupported)
      total += entry.second.size();
    auto error = unsupported.front().second.front()->emitError();
    error << total << (total == 1 ? " operation is" : " operations are") << " not supported:";
    for (auto &[name, ops] : unsupported) {
      error << (name == unsupported.front().first ? " " : ", ") << name;
      if (ops.size() > 1)
        error << " (" << ops.size() << " times)";
      if (name != unsupported.front().first)
        error.attachNote(ops.front()->getLoc()) << "first " << name << " is here";
    }
    return error << "; express them by other StableHLO operations in the model";
  }

  static bool isScalarFloat(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0 && isa<FloatType>(tensor.getElementType());
  }

  LogicalResult checkLoss() {
    if (entry.getNumResults() == 0 || !isScalarFloat(entry.getResultTypes()[0])) {
      auto error = entry.emitError() << "function '" << entry.getName() << "' returns ";
      if (entry.getNumResults() == 0)
        error << "nothing";
      else
        error << entry.getResultTypes()[0];
      return error << " first; expected a scalar loss of floating-point type: export the loss function, not the forward function";
    }
    bool hasFloat = llvm::any_of(entry.getArgumentTypes(), [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); });
    if (!hasFloat)
      return entry.emitError() << "function '" << entry.getName()
                               << "' has no argument of floating-point type, so there is nothing to train; are the weights constants of the module?";
    return success();
  }

  ModuleOp module;
  bool allowNonScalar;
  func::FuncOp entry;
};

struct CheckInputPass : p3d::impl::CheckInputBase<CheckInputPass> {
  using CheckInputBase::CheckInputBase;
  void runOnOperation() override {
    if (failed(InputChecker(getOperation(), allowNonScalar).check()))
      signalPassFailure();
  }
};

} // namespace
