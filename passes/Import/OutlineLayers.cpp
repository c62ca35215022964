// Puts everything that depends on parameters into blocks: `first`, one block per class of isomorphic layers, `last`. What does not depend on
// parameters goes where it is used, or stays at the top level when several calls share it or when it sums over the batch.
#include "passes/Import/BlockBody.h"
#include "passes/Import/LayerPlan.h"
#include "passes/Import/Passes.h"
#include "passes/Import/Placement.h"
#include "mlir/IR/IRMapping.h"

namespace p3d {
#define GEN_PASS_DEF_OUTLINELAYERS
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

class Outliner {
public:
  explicit Outliner(graph::ProgramOp program)
      : program(program), dependence(program), plan(planLayers(program, dependence)), placement(program, dependence, plan) {}

  void run() {
    OpBuilder builder(program.getBody().front().getTerminator());
    int64_t layer = 0;
    for (auto [index, part] : llvm::enumerate(plan.parts)) {
      BlockBody body = collectBody(program, dependence, plan, placement, index);
      graph::BlockOp block = blockFor(body, part.isLayer, index == 0);
      call(builder, block, body, part.isLayer ? builder.getI64IntegerAttr(layer++) : IntegerAttr());
    }
    redirectResults();
    eraseOutlined();
  }

private:
  /// The block of an equal body seen before, or a new one.
  graph::BlockOp blockFor(const BlockBody &body, bool isLayer, bool isFirst) {
    if (isLayer)
      for (auto &[known, block] : layers)
        if (known == body.key)
          return block;
    std::string name = isLayer ? "layer" : isFirst && plan.parts.size() > 1 ? "first" : "last";
    if (isLayer && !layers.empty())
      name += "_" + std::to_string(layers.size());
    graph::BlockOp block = build(body, name);
    if (isLayer)
      layers.push_back({body.key, block});
    return block;
  }

  graph::BlockOp build(const BlockBody &body, StringRef name) {
    OpBuilder builder(program);
    SmallVector<Type> inputs, outputs;
    for (Value input : body.inputs)
      inputs.push_back(input.getType());
    for (Value output : body.outputs)
      outputs.push_back(output.getType());
    auto block = builder.create<graph::BlockOp>(body.loc, name, builder.getFunctionType(inputs, outputs));
    IRMapping mapping;
    mapping.map(body.inputs, block.getBody().getArguments());
    builder.setInsertionPointToStart(&block.getBody().front());
    for (Operation *op : body.ops)
      builder.clone(*op, mapping);
    SmallVector<Value> results;
    for (Value output : body.outputs)
      results.push_back(mapping.lookup(output));
    builder.create<graph::YieldOp>(body.loc, results);
    return block;
  }

  void call(OpBuilder &builder, graph::BlockOp block, const BlockBody &body, IntegerAttr layer) {
    SmallVector<Value> inputs;
    for (Value input : body.inputs)
      inputs.push_back(outlined.lookupOrDefault(input));
    auto call = builder.create<graph::CallOp>(body.loc, block.getResultTypes(), block.getSymName(), inputs, layer);
    outlined.map(body.outputs, call.getResults());
  }

  void redirectResults() {
    Operation *yield = program.getBody().front().getTerminator();
    for (OpOperand &operand : yield->getOpOperands())
      operand.set(outlined.lookupOrDefault(operand.get()));
  }

  /// Operations of the flat program that are in blocks now; in reverse order, users are gone before what they use.
  void eraseOutlined() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(program.getBody().front())))
      if (!isa<graph::CallOp, graph::YieldOp>(op) && op.use_empty())
        op.erase();
  }

  graph::ProgramOp program;
  Dependence dependence;
  LayerPlan plan;
  Placement placement;
  IRMapping outlined;
  SmallVector<std::pair<SmallVector<const void *>, graph::BlockOp>> layers;
};

struct OutlineLayersPass : p3d::impl::OutlineLayersBase<OutlineLayersPass> {
  void runOnOperation() override {
    for (auto program : llvm::make_early_inc_range(getOperation().getOps<graph::ProgramOp>()))
      Outliner(program).run();
  }
};

} // namespace
