// Reverse rules of named operations: each has its gradient operation.
#include "passes/Autodiff/Rules.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// Statistics are for the backward operation alone; a gradient that reaches one is refused.
LogicalResult expectOnlyFirst(Operation *op, ResultGradients d) {
  for (unsigned i = 1; i < d.size(); ++i)
    if (d[i])
      return op->emitOpError() << "result " << i << " is a statistic without a gradient, but the loss depends on it; compute "
                               << "it with generic operations";
  return success();
}

/// An operand that has to be independent of parameters.
LogicalResult expectConstant(Operation *op, Value operand, StringRef name, Gradients &g) {
  if (!g.wants(operand))
    return success();
  return op->emitOpError() << name << " depends on parameters, but only the other operands have gradients; write the "
                           << "operation with generic ones";
}

LogicalResult layerNormRule(LayerNormOp op, ResultGradients d, Gradients &g) {
  if (failed(expectOnlyFirst(op, d)))
    return failure();
  auto grad = g.create<LayerNormGradOp>(op.getOperand().getType(), op.getScale().getType(), op.getBias().getType(), d[0],
                                        op.getOperand(), op.getScale(), op.getMean(), op.getRstd());
  g.add(op.getOperand(), [&] { return grad.getDOperand(); });
  g.add(op.getScale(), [&] { return grad.getDScale(); });
  g.add(op.getBias(), [&] { return grad.getDBias(); });
  return success();
}

LogicalResult rmsNormRule(RmsNormOp op, ResultGradients d, Gradients &g) {
  if (failed(expectOnlyFirst(op, d)))
    return failure();
  auto grad = g.create<RmsNormGradOp>(op.getOperand().getType(), op.getScale().getType(), d[0], op.getOperand(),
                                      op.getScale(), op.getRstd());
  g.add(op.getOperand(), [&] { return grad.getDOperand(); });
  g.add(op.getScale(), [&] { return grad.getDScale(); });
  return success();
}

LogicalResult crossEntropyRule(SoftmaxCrossEntropyOp op, ResultGradients d, Gradients &g) {
  if (failed(expectOnlyFirst(op, d)))
    return failure();
  g.add(op.getLogits(), [&] {
    return g.create<SoftmaxCrossEntropyGradOp>(op.getLogits().getType(), d[0], op.getLogits(), op.getTargets(),
                                               op.getMax(), op.getSum());
  });
  return success();
}

LogicalResult ropeRule(RopeOp op, Value d, Gradients &g) {
  if (failed(expectConstant(op, op.getCos(), "cos", g)) || failed(expectConstant(op, op.getSin(), "sin", g)))
    return failure();
  g.add(op.getOperand(), [&] {
    return g.create<RopeOp>(op.getOperand().getType(), d, op.getCos(), op.getSin(), !op.getTransposed());
  });
  return success();
}

LogicalResult attentionRule(AttentionOp op, ResultGradients d, Gradients &g) {
  if (failed(expectOnlyFirst(op, d)) || failed(expectConstant(op, op.getMask(), "mask", g)))
    return failure();
  auto grad = g.create<AttentionGradOp>(op.getQuery().getType(), op.getKey().getType(), op.getValue().getType(), d[0],
                                        op.getQuery(), op.getKey(), op.getValue(), op.getResult(), op.getLse(),
                                        op.getMask(), op.getScaleAttr(), op.getCausalAttr(), op.getMaskedValueAttr());
  g.add(op.getQuery(), [&] { return grad.getDQuery(); });
  g.add(op.getKey(), [&] { return grad.getDKey(); });
  g.add(op.getValue(), [&] { return grad.getDValue(); });
  return success();
}

void addActivations(RuleTable &table) {
  table.on<GeluOp>([](GeluOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.create<GeluGradOp>(d.getType(), op.getKind(), d, op.getOperand()); });
  });
  table.on<SiluOp>([](SiluOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.make<SiluGradOp>(d, op.getOperand()); });
  });
  table.on<SwigluOp>([](SwigluOp op, Value d, Gradients &g) {
    auto grad = g.create<SwigluGradOp>(d.getType(), d.getType(), d, op.getLhs(), op.getRhs());
    g.add(op.getLhs(), [&] { return grad.getDGate(); });
    g.add(op.getRhs(), [&] { return grad.getDUp(); });
  });
  table.on<SoftmaxOp>([](SoftmaxOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.make<SoftmaxGradOp>(op.getResult(), d); });
  });
}
} // namespace

void p3d::addNamedRules(RuleTable &table) {
  addActivations(table);
  table.onAll<LayerNormOp>(layerNormRule);
  table.onAll<RmsNormOp>(rmsNormRule);
  table.onAll<SoftmaxCrossEntropyOp>(crossEntropyRule);
  table.on<RopeOp>(ropeRule);
  table.onAll<AttentionOp>(attentionRule);
  // Gradients are not differentiated again; the pieces of cross entropy appear after partitioning only.
  table.refuses<EmbeddingGradOp, LayerNormGradOp, RmsNormGradOp, SoftmaxGradOp, SoftmaxCrossEntropyGradOp, GeluGradOp,
                SiluGradOp, SwigluGradOp, AttentionGradOp, CrossEntropyMaxOp, CrossEntropySumOp, UpdateOp>();
}
