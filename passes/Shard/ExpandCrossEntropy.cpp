// Splits softmax_cross_entropy around its two reductions over the logits; see Passes.td.
#include "passes/Shard/Passes.h"

namespace p3d::shard {
#define GEN_PASS_DEF_EXPANDCROSSENTROPY
#include "passes/Shard/Passes.h.inc"
} // namespace p3d::shard

using namespace mlir;
using namespace p3d;

namespace {
void expand(graph::SoftmaxCrossEntropyOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Type rows = op.getLoss().getType();
  Value max = b.create<graph::CrossEntropyMaxOp>(loc, op.getMax().getType(), op.getLogits());
  auto sum = b.create<graph::CrossEntropySumOp>(loc, op.getSum().getType(), rows, op.getLogits(), op.getTargets(), max);
  Value log = b.create<graph::LogOp>(loc, rows, sum.getSum());
  Value total = b.create<graph::AddOp>(loc, rows, log, max);
  Value loss = b.create<graph::SubOp>(loc, rows, total, sum.getTarget());
  op.replaceAllUsesWith(ValueRange{loss, max, sum.getSum()});
  op.erase();
}

struct ExpandCrossEntropyPass : p3d::shard::impl::ExpandCrossEntropyBase<ExpandCrossEntropyPass> {
  void runOnOperation() override {
    getOperation().walk([](graph::SoftmaxCrossEntropyOp op) { expand(op); });
  }
};
} // namespace
