// The outline of differentiation: blocks first, then the program that calls them, then what the training step returns and updates.
#include "passes/Autodiff/Passes.h"
#include "passes/Autodiff/SplitBlock.h"
#include "passes/Autodiff/TrainingStep.h"

namespace p3d {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Autodiff/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
FailureOr<Recompute> parseRecompute(ModuleOp module, StringRef text) {
  auto policy = llvm::StringSwitch<std::optional<Recompute>>(text)
                    .Case("none", Recompute::None)
                    .Case("selective", Recompute::Selective)
                    .Case("full", Recompute::Full)
                    .Default(std::nullopt);
  if (policy)
    return *policy;
  return module.emitError() << "recompute is '" << text << "', expected none, selective or full";
}

/// Of `block`: all of it is computed again where it is a layer. What stands before and behind the layers is there once, and the last of it is the dearest matrix product
/// of many models.
Recompute policyOf(BlockOp block, Recompute policy, const llvm::DenseSet<StringAttr> &layers) {
  bool isLayer = layers.contains(block.getSymNameAttr());
  return policy == Recompute::Full && !isLayer ? Recompute::Selective : policy;
}

/// Names of the blocks that calls number as layers.
llvm::DenseSet<StringAttr> findLayers(ProgramOp program) {
  llvm::DenseSet<StringAttr> layers;
  program.walk([&](CallOp call) {
    if (call.getLayer())
      layers.insert(call.getCalleeAttr().getAttr());
  });
  return layers;
}

/// The module's one program, whose result 0 is a scalar float.
FailureOr<ProgramOp> findProgram(ModuleOp module) {
  auto programs = llvm::to_vector(module.getOps<ProgramOp>());
  if (programs.size() != 1)
    return module.emitError() << "holds " << programs.size() << " graph.program, expected 1";
  ProgramOp program = programs.front();
  auto type = program.getNumResults() ? dyn_cast<RankedTensorType>(program.getResultTypes()[0]) : RankedTensorType();
  if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
    return program.emitOpError() << "has no loss: result 0 is expected to be a scalar float";
  return program;
}

struct DifferentiatePass : p3d::impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  LogicalResult run(ModuleOp module) {
    FailureOr<Recompute> policy = parseRecompute(module, recompute);
    if (optimizer != "adamw" && optimizer != "sgd" && optimizer != "none")
      return module.emitError() << "optimizer is '" << optimizer << "', expected adamw, sgd or none";
    FailureOr<ProgramOp> program = findProgram(module);
    if (failed(policy) || failed(program))
      return failure();
    FailureOr<Activity> activity = analyzeActivity(*program);
    if (failed(activity))
      return failure();
    BlockGradients blocks;
    llvm::DenseSet<StringAttr> layers = findLayers(*program);
    for (BlockOp block : llvm::to_vector(module.getOps<BlockOp>())) {
      FailureOr<BlockGradient> gradient = differentiateBlock(block, *activity, policyOf(block, *policy, layers));
      if (failed(gradient))
        return failure();
      blocks[block.getName()] = *gradient;
    }
    if (failed(makeTrainingStep(*program, blocks, *activity, optimizer)))
      return failure();
    for (BlockOp block : llvm::to_vector(module.getOps<BlockOp>()))
      if (blocks.contains(block.getName()))
        block.erase();
    return success();
  }

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }
};
} // namespace
