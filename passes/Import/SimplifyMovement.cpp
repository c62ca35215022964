// Chains of operations that only move elements.
#include "passes/Import/GraphPatterns.h"
#include "passes/Import/Simplifications.h"
#include "passes/Import/Translation.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

bool sameType(Operation *op) { return op->getOperand(0).getType() == op->getResult(0).getType(); }

LogicalResult simplifyBroadcast(graph::BroadcastOp op, PatternRewriter &rewriter) {
  Value operand = op.getOperand();
  auto type = op.getType();
  if (sameType(op))
    return rewriter.replaceOp(op, operand), success();
  if (std::optional<double> number = uniformValue(operand); number && operand.getDefiningOp()->getNumOperands() == 0) {
    auto value = cast<DenseElementsAttr>(cast<graph::ConstantOp>(operand.getDefiningOp()).getValue());
    rewriter.replaceOpWithNewOp<graph::ConstantOp>(op, type, cast<ElementsAttr>(value.resizeSplat(type)));
    return success();
  }
  if (graph::tensorType(operand).getNumElements() == type.getNumElements())
    return rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, type, operand), success();
  if (auto inner = operand.getDefiningOp<graph::BroadcastOp>()) {
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(op.getDims()[dim]);
    rewriter.replaceOpWithNewOp<graph::BroadcastOp>(op, type, inner.getOperand(), dims);
    return success();
  }
  if (auto inner = operand.getDefiningOp<graph::ReshapeOp>()) {
    auto map = unitReshapeDims(graph::tensorType(inner.getOperand()), inner.getType());
    if (!map || llvm::is_contained(*map, -1))
      return failure();
    SmallVector<int64_t> dims;
    for (int64_t dim : *map)
      dims.push_back(op.getDims()[dim]);
    rewriter.replaceOpWithNewOp<graph::BroadcastOp>(op, type, inner.getOperand(), dims);
    return success();
  }
  if (auto iota = operand.getDefiningOp<graph::IotaOp>()) {
    int64_t dim = op.getDims()[iota.getDim()];
    if (type.getDimSize(dim) == iota.getType().getDimSize(iota.getDim()))
      return rewriter.replaceOpWithNewOp<graph::IotaOp>(op, type, dim), success();
  }
  return failure();
}

LogicalResult simplifyReshape(graph::ReshapeOp op, PatternRewriter &rewriter) {
  Value operand = op.getOperand();
  auto type = op.getType();
  if (sameType(op))
    return rewriter.replaceOp(op, operand), success();
  if (auto inner = operand.getDefiningOp<graph::ReshapeOp>())
    return rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, type, inner.getOperand()), success();
  if (auto constant = operand.getDefiningOp<graph::ConstantOp>()) {
    if (auto value = dyn_cast<DenseElementsAttr>(constant.getValue()))
      return rewriter.replaceOpWithNewOp<graph::ConstantOp>(op, type, cast<ElementsAttr>(value.reshape(type))), success();
  }
  auto map = unitReshapeDims(graph::tensorType(operand), type);
  if (!map)
    return failure();
  if (auto iota = operand.getDefiningOp<graph::IotaOp>(); iota && (*map)[iota.getDim()] >= 0)
    return rewriter.replaceOpWithNewOp<graph::IotaOp>(op, type, (*map)[iota.getDim()]), success();
  // Unit dimensions dropped after a broadcast are dropped before it.
  auto inner = operand.getDefiningOp<graph::BroadcastOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> dims, shape;
  auto from = graph::tensorType(inner.getOperand());
  for (auto [i, dim] : llvm::enumerate(inner.getDims()))
    if ((*map)[dim] >= 0) {
      dims.push_back((*map)[dim]);
      shape.push_back(from.getDimSize(i));
    }
  Value narrow = reshape(rewriter, op.getLoc(), inner.getOperand(), shape);
  rewriter.replaceOpWithNewOp<graph::BroadcastOp>(op, type, narrow, dims);
  return success();
}

LogicalResult simplifyTranspose(graph::TransposeOp op, PatternRewriter &rewriter) {
  auto permutation = op.getPermutation();
  if (llvm::is_sorted(permutation))
    return rewriter.replaceOp(op, op.getOperand()), success();
  if (auto inner = op.getOperand().getDefiningOp<graph::TransposeOp>()) {
    SmallVector<int64_t> both;
    for (int64_t dim : permutation)
      both.push_back(inner.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<graph::TransposeOp>(op, op.getType(), inner.getOperand(), both);
    return success();
  }
  // The smaller tensor is transposed.
  if (auto inner = op.getOperand().getDefiningOp<graph::BroadcastOp>()) {
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, inner.getDims().size())), dims;
    auto placeOf = [&](int64_t i) { return llvm::find(permutation, inner.getDims()[i]) - permutation.begin(); };
    llvm::sort(order, [&](int64_t a, int64_t b) { return placeOf(a) < placeOf(b); });
    for (int64_t i : order)
      dims.push_back(placeOf(i));
    Value narrow = transpose(rewriter, op.getLoc(), inner.getOperand(), order);
    rewriter.replaceOpWithNewOp<graph::BroadcastOp>(op, op.getType(), narrow, dims);
    return success();
  }
  // Only unit dimensions move.
  SmallVector<int64_t> moved;
  for (int64_t dim : permutation)
    if (graph::tensorType(op.getOperand()).getDimSize(dim) != 1)
      moved.push_back(dim);
  if (llvm::is_sorted(moved))
    return rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, op.getType(), op.getOperand()), success();
  return failure();
}

/// Whether every value of `from` is one of `to`.
bool widens(Type from, Type to) {
  auto a = dyn_cast<FloatType>(from), b = dyn_cast<FloatType>(to);
  if (!a || !b)
    return false;
  auto &narrow = a.getFloatSemantics(), &wide = b.getFloatSemantics();
  return APFloat::semanticsPrecision(narrow) <= APFloat::semanticsPrecision(wide) &&
         APFloat::semanticsMaxExponent(narrow) <= APFloat::semanticsMaxExponent(wide) &&
         APFloat::semanticsMinExponent(narrow) >= APFloat::semanticsMinExponent(wide);
}

LogicalResult simplifyConvert(graph::ConvertOp op, PatternRewriter &rewriter) {
  if (sameType(op))
    return rewriter.replaceOp(op, op.getOperand()), success();
  auto inner = op.getOperand().getDefiningOp<graph::ConvertOp>();
  if (!inner || !widens(graph::tensorType(inner.getOperand()).getElementType(), inner.getType().getElementType()))
    return failure();
  rewriter.replaceOpWithNewOp<graph::ConvertOp>(op, op.getType(), inner.getOperand());
  return success();
}

/// A slice within a slice, or within one part of a concatenation.
LogicalResult simplifySlice(graph::SliceOp op, PatternRewriter &rewriter) {
  if (sameType(op))
    return rewriter.replaceOp(op, op.getOperand()), success();
  SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits()), strides(op.getStrides());
  if (auto inner = op.getOperand().getDefiningOp<graph::SliceOp>()) {
    for (size_t i = 0; i < starts.size(); ++i) {
      int64_t step = inner.getStrides()[i];
      int64_t last = starts[i] + (op.getType().getDimSize(i) - 1) * strides[i];
      limits[i] = inner.getStarts()[i] + last * step + 1;
      starts[i] = inner.getStarts()[i] + starts[i] * step;
      strides[i] *= step;
    }
    if (op.getType().getNumElements() == 0)
      return failure();
    rewriter.replaceOpWithNewOp<graph::SliceOp>(op, op.getType(), inner.getOperand(), starts, limits, strides);
    return success();
  }
  auto whole = op.getOperand().getDefiningOp<graph::ConcatOp>();
  if (!whole)
    return failure();
  int64_t dim = whole.getDim(), offset = 0;
  for (Value part : whole.getOperands()) {
    int64_t size = graph::tensorType(part).getDimSize(dim);
    if (starts[dim] >= offset && limits[dim] <= offset + size) {
      starts[dim] -= offset;
      limits[dim] -= offset;
      rewriter.replaceOpWithNewOp<graph::SliceOp>(op, op.getType(), part, starts, limits, strides);
      return success();
    }
    offset += size;
  }
  return failure();
}

LogicalResult simplifyConcat(graph::ConcatOp op, PatternRewriter &rewriter) {
  if (op.getOperands().size() == 1)
    return rewriter.replaceOp(op, op.getOperands().front()), success();
  // A concatenation of a concatenation along the same dimension.
  SmallVector<Value> flat;
  for (Value operand : op.getOperands()) {
    auto inner = operand.getDefiningOp<graph::ConcatOp>();
    if (inner && inner.getDim() == op.getDim())
      llvm::append_range(flat, inner.getOperands());
    else
      flat.push_back(operand);
  }
  if (flat.size() == op.getOperands().size())
    return failure();
  rewriter.replaceOpWithNewOp<graph::ConcatOp>(op, op.getType(), flat, op.getDim());
  return success();
}

/// Rows of positions chosen by positions.
LogicalResult simplifyGather(graph::GatherOp op, PatternRewriter &rewriter) {
  std::optional<int64_t> along = iotaDim(op.getOperand()), chosen = iotaDim(op.getIds());
  auto operand = graph::tensorType(op.getOperand()), ids = graph::tensorType(op.getIds());
  bool isLast = int64_t(op.getAxis()) == operand.getRank() - 1 && op.getAxis() == op.getBatchDims();
  if (!along || *along != int64_t(op.getAxis()) || !chosen || !isLast || ids.getDimSize(*chosen) > operand.getDimSize(*along) ||
      ids != op.getType())
    return failure();
  return rewriter.replaceOp(op, op.getIds()), success();
}

/// A reduction over dimensions of size 1 moves elements only.
LogicalResult simplifyReduce(graph::ReduceOp op, PatternRewriter &rewriter) {
  SmallVector<int64_t> dims;
  auto from = graph::tensorType(op.getOperand());
  for (int64_t dim : op.getDims())
    if (from.getDimSize(dim) != 1)
      dims.push_back(dim);
  if (dims.size() == op.getDims().size())
    return failure();
  if (dims.empty())
    return rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), op.getOperand(), op.getType().getShape())), success();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(from.getDimSize(dim));
  Value reduced = rewriter.create<graph::ReduceOp>(op.getLoc(), from.clone(shape), op.getKind(), op.getOperand(), dims);
  rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), reduced, op.getType().getShape()));
  return success();
}

} // namespace

void p3d::import::addMovementSimplifications(RewritePatternSet &patterns) {
  addRewrite<graph::BroadcastOp>(patterns, simplifyBroadcast);
  addRewrite<graph::ReshapeOp>(patterns, simplifyReshape);
  addRewrite<graph::TransposeOp>(patterns, simplifyTranspose);
  addRewrite<graph::ConvertOp>(patterns, simplifyConvert);
  addRewrite<graph::SliceOp>(patterns, simplifySlice);
  addRewrite<graph::ConcatOp>(patterns, simplifyConcat);
  addRewrite<graph::GatherOp>(patterns, simplifyGather);
  addRewrite<graph::ReduceOp>(patterns, simplifyReduce);
}
