// Inlines every call of a private function and every composite (by its decomposition), so that one function is left.
#include "passes/Import/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace p3d {
#define GEN_PASS_DEF_INLINECALLS
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;

namespace {

/// The symbol that `op` calls: a function, or the decomposition of a composite; null for other ops.
FlatSymbolRefAttr calleeOf(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    return composite.getDecompositionAttr();
  return {};
}

/// A call that is still to be inlined, and the calls around it, innermost last, to notice recursion.
struct PendingCall {
  Operation *op;
  SmallVector<func::FuncOp, 4> stack;
};

class Inliner {
public:
  explicit Inliner(ModuleOp module) : symbols(module) {}

  LogicalResult inlineAll(func::FuncOp entry) {
    collect(entry, {entry});
    while (!pending.empty()) {
      PendingCall call = pending.pop_back_val();
      if (failed(inlineOne(call)))
        return failure();
    }
    return success();
  }

private:
  void collect(Operation *root, ArrayRef<func::FuncOp> stack) {
    root->walk([&](Operation *op) {
      if (calleeOf(op))
        pending.push_back({op, SmallVector<func::FuncOp, 4>(stack)});
    });
  }

  FailureOr<func::FuncOp> resolve(const PendingCall &call) {
    auto callee = symbols.lookup<func::FuncOp>(calleeOf(call.op).getValue());
    if (!callee || callee.isDeclaration())
      return call.op->emitOpError() << "calls '" << calleeOf(call.op).getValue()
                                    << "', which has no body in this module; export the whole program";
    if (llvm::is_contained(call.stack, callee))
      return call.op->emitOpError() << "calls '" << callee.getName() << "' recursively";
    if (TypeRange(call.op->getOperandTypes()) != TypeRange(callee.getArgumentTypes()) ||
        TypeRange(call.op->getResultTypes()) != TypeRange(callee.getResultTypes()))
      return call.op->emitOpError() << "has the type "
                                    << FunctionType::get(callee.getContext(), call.op->getOperandTypes(), call.op->getResultTypes())
                                    << ", but '" << callee.getName() << "' has " << callee.getFunctionType();
    if (!llvm::hasSingleElement(callee.getBody()))
      return callee.emitOpError() << "has several blocks; expected one";
    return callee;
  }

  LogicalResult inlineOne(const PendingCall &call) {
    FailureOr<func::FuncOp> callee = resolve(call);
    if (failed(callee))
      return failure();
    SmallVector<func::FuncOp, 4> stack = call.stack;
    stack.push_back(*callee);
    IRMapping mapping;
    mapping.map(callee->getArguments(), call.op->getOperands());
    OpBuilder builder(call.op);
    Block &body = callee->getBody().front();
    for (Operation &op : body.without_terminator()) {
      Operation *clone = builder.clone(op, mapping);
      clone->setLoc(CallSiteLoc::get(op.getLoc(), call.op->getLoc()));
      collect(clone, stack);
    }
    for (auto [result, value] : llvm::zip(call.op->getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.op->erase();
    return success();
  }

  SymbolTable symbols;
  SmallVector<PendingCall> pending;
};

struct InlineCallsPass : p3d::impl::InlineCallsBase<InlineCallsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> entries, others;
    for (auto function : module.getOps<func::FuncOp>())
      (function.isPublic() ? entries : others).push_back(function);
    Inliner inliner(module);
    for (func::FuncOp entry : entries)
      if (failed(inliner.inlineAll(entry)))
        return signalPassFailure();
    for (func::FuncOp function : others)
      function.erase();
  }
};

} // namespace
