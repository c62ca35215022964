// Reverse rules of operations that move elements.
#include "passes/Autodiff/Rules.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) { return invertPermutationVector(permutation); }

/// Repeated elements collect their gradients.
void broadcastRule(BroadcastOp op, Value d, Gradients &g) {
  auto from = op.getOperand().getType().getShape();
  g.add(op.getOperand(), [&] {
    SmallVector<int64_t> repeated;
    for (int64_t dim = 0; dim < op.getType().getRank(); ++dim) {
      const int64_t *found = llvm::find(op.getDims(), dim);
      bool isKept = found != op.getDims().end() && from[found - op.getDims().begin()] == op.getType().getDimSize(dim);
      if (!isKept)
        repeated.push_back(dim);
    }
    return g.reshape(g.sum(d, repeated), from);
  });
}

Value pad(Gradients &g, Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
          ArrayRef<int64_t> interior) {
  Type element = tensorType(value).getElementType();
  Value zero = g.splat(RankedTensorType::get({}, element), 0);
  return g.create<PadOp>(RankedTensorType::get(shape, element), value, zero, low, high, interior);
}

/// Elements go back to where the slice took them.
void sliceRule(SliceOp op, Value d, Gradients &g) {
  auto from = op.getOperand().getType().getShape();
  g.add(op.getOperand(), [&] {
    SmallVector<int64_t> high, interior;
    for (auto [size, taken, start, stride] : llvm::zip(from, op.getType().getShape(), op.getStarts(), op.getStrides())) {
      interior.push_back(stride - 1);
      high.push_back(size - start - (taken ? (taken - 1) * stride + 1 : 0));
    }
    return pad(g, d, from, op.getStarts(), high, interior);
  });
}

/// The operand's part of a padded tensor: padding is cut off (and cropping filled with zeros), then every (interior + 1)th element taken.
Value unpad(PadOp op, Value d, Gradients &g) {
  auto from = op.getOperand().getType().getShape();
  SmallVector<int64_t> low, high, spread, strides, starts(from.size(), 0), none(from.size(), 0);
  for (auto [size, before, after, interior] : llvm::zip(from, op.getLow(), op.getHigh(), op.getInterior())) {
    low.push_back(-before);
    high.push_back(-after);
    strides.push_back(interior + 1);
    spread.push_back(size ? size + (size - 1) * interior : 0);
  }
  Value whole = spread == SmallVector<int64_t>(op.getType().getShape()) ? d : pad(g, d, spread, low, high, none);
  return g.create<SliceOp>(op.getOperand().getType(), whole, starts, spread, strides);
}

void padRule(PadOp op, Value d, Gradients &g) {
  auto allDims = [](Value value) { return llvm::to_vector(llvm::seq<int64_t>(0, tensorType(value).getRank())); };
  if (!g.wants(op.getOperand()) && !g.wants(op.getValue()))
    return;
  Value inner = unpad(op, d, g);
  g.add(op.getOperand(), [&] { return inner; });
  g.add(op.getValue(), [&] { return g.make<SubOp>(g.sum(d, allDims(d)), g.sum(inner, allDims(inner))); });
}

void concatRule(ConcatOp op, Value d, Gradients &g) {
  SmallVector<int64_t> starts(op.getType().getRank(), 0), limits(op.getType().getShape()), strides(starts.size(), 1);
  for (Value operand : op.getOperands()) {
    limits[op.getDim()] = starts[op.getDim()] + tensorType(operand).getDimSize(op.getDim());
    g.add(operand, [&] { return g.create<SliceOp>(operand.getType(), d, starts, limits, strides); });
    starts[op.getDim()] = limits[op.getDim()];
  }
}

/// Values chosen along the last dimension give their gradients to where they stood.
template <typename OpTy> LogicalResult chosenRule(OpTy op, ResultGradients d, Gradients &g) {
  int64_t last = tensorType(op.getOperand()).getRank() - 1;
  g.add(op.getOperand(), [&] {
    return g.create<ScatterAddOp>(op.getOperand().getType(), d[0], op.getIndices(), last, last);
  });
  return success();
}
} // namespace

void p3d::addShapeRules(RuleTable &table) {
  table.on<BroadcastOp>(broadcastRule);
  table.on<ReshapeOp>([](ReshapeOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.reshape(d, op.getOperand().getType().getShape()); });
  });
  table.on<TransposeOp>([](TransposeOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.transpose(d, inverse(op.getPermutation())); });
  });
  table.on<SliceOp>(sliceRule);
  table.on<PadOp>(padRule);
  table.on<ConcatOp>(concatRule);
  table.on<ConstrainOp>([](ConstrainOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.create<ConstrainOp>(d.getType(), d, op.getSharding()); });
  });
  table.on<ReverseOp>([](ReverseOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] { return g.create<ReverseOp>(d.getType(), d, op.getDims()); });
  });
  table.on<GatherOp>([](GatherOp op, Value d, Gradients &g) {
    g.add(op.getOperand(), [&] {
      return g.create<ScatterAddOp>(op.getOperand().getType(), d, op.getIds(), op.getAxis(), op.getBatchDims());
    });
  });
  table.on<ScatterAddOp>([](ScatterAddOp op, Value d, Gradients &g) {
    g.add(op.getUpdates(), [&] {
      return g.create<GatherOp>(op.getUpdates().getType(), d, op.getIds(), op.getAxis(), op.getBatchDims());
    });
  });
  table.onAll<TopKOp>(chosenRule<TopKOp>);
  table.onAll<SortOp>(chosenRule<SortOp>);
  table.on<EmbeddingOp>([](EmbeddingOp op, Value d, Gradients &g) {
    g.add(op.getTable(), [&] { return g.create<EmbeddingGradOp>(op.getTable().getType(), d, op.getIds()); });
  });
  table.stops<ConstantOp, IotaOp>();
}
