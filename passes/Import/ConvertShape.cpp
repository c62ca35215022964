// Operations that move elements, and the builders of such graph operations.
#include "passes/Import/Constants.h"
#include "passes/Import/Translation.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

//===--------------------------------------------------------------------------------------------------------------===//
// Builders
//===--------------------------------------------------------------------------------------------------------------===//

Value p3d::import::reshape(OpBuilder &builder, Location loc, Value value, Dims shape) {
  auto type = graph::tensorType(value);
  if (type.getShape() == shape)
    return value;
  return builder.create<graph::ReshapeOp>(loc, type.clone(shape), value);
}

Value p3d::import::transpose(OpBuilder &builder, Location loc, Value value, Dims permutation) {
  if (llvm::is_sorted(permutation))
    return value;
  auto type = graph::tensorType(value);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return builder.create<graph::TransposeOp>(loc, type.clone(shape), value, builder.getDenseI64ArrayAttr(permutation));
}

Value p3d::import::sliceDim(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t start, int64_t size) {
  auto type = graph::tensorType(value);
  if (type.getDimSize(dim) == size)
    return value;
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1), shape(type.getShape());
  starts[dim] = start;
  limits[dim] = start + size;
  shape[dim] = size;
  return builder.create<graph::SliceOp>(loc, type.clone(shape), value, builder.getDenseI64ArrayAttr(starts),
                                        builder.getDenseI64ArrayAttr(limits), builder.getDenseI64ArrayAttr(strides));
}

Value p3d::import::concat(OpBuilder &builder, Location loc, ValueRange values, int64_t dim) {
  SmallVector<Value> parts;
  int64_t total = 0;
  for (Value value : values)
    if (int64_t size = graph::tensorType(value).getDimSize(dim)) {
      parts.push_back(value);
      total += size;
    }
  if (parts.empty())
    return values.front();
  if (parts.size() == 1)
    return parts.front();
  auto type = graph::tensorType(parts.front());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = total;
  return builder.create<graph::ConcatOp>(loc, type.clone(shape), parts, builder.getI64IntegerAttr(dim));
}

Value p3d::import::broadcast(OpBuilder &builder, Location loc, Value value, Dims shape, Dims dims) {
  auto type = graph::tensorType(value);
  if (type.getShape() == shape)
    return value;
  return builder.create<graph::BroadcastOp>(loc, type.clone(shape), value, builder.getDenseI64ArrayAttr(dims));
}

Value p3d::import::splat(OpBuilder &builder, Location loc, RankedTensorType type, double value) {
  Type element = type.getElementType();
  Attribute scalar;
  if (isa<FloatType>(element))
    scalar = builder.getFloatAttr(element, value);
  else
    scalar = builder.getIntegerAttr(element, int64_t(value));
  return builder.create<graph::ConstantOp>(loc, type, cast<ElementsAttr>(DenseElementsAttr::get(type, scalar)));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Converters
//===--------------------------------------------------------------------------------------------------------------===//

namespace {

/// `broadcast_in_dim`, whose dimensions may come in any order: a transpose first where they do.
LogicalResult convertBroadcastInDim(stablehlo::BroadcastInDimOp op, Translation &t) {
  Value operand = t.get(op.getOperand());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, op.getBroadcastDimensions().size()));
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return op.getBroadcastDimensions()[a] < op.getBroadcastDimensions()[b]; });
  operand = transpose(t.builder, op.getLoc(), operand, order);
  SmallVector<int64_t> dims(op.getBroadcastDimensions());
  llvm::sort(dims);
  t.bind(op.getResult(), broadcast(t.builder, op.getLoc(), operand, type.getShape(), dims));
  return success();
}

LogicalResult convertBroadcast(stablehlo::BroadcastOp op, Translation &t) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(op.getBroadcastSizes().size(), type.getRank()));
  t.bind(op.getResult(), broadcast(t.builder, op.getLoc(), t.get(op.getOperand()), type.getShape(), dims));
  return success();
}

LogicalResult convertReshape(stablehlo::ReshapeOp op, Translation &t) {
  auto shape = cast<RankedTensorType>(op.getResult().getType()).getShape();
  t.bind(op.getResult(), reshape(t.builder, op.getLoc(), t.get(op.getOperand()), shape));
  return success();
}

LogicalResult convertTranspose(stablehlo::TransposeOp op, Translation &t) {
  t.bind(op.getResult(), transpose(t.builder, op.getLoc(), t.get(op.getOperand()), op.getPermutation()));
  return success();
}

LogicalResult convertSlice(stablehlo::SliceOp op, Translation &t) {
  Value operand = t.get(op.getOperand());
  if (operand.getType() != op.getResult().getType())
    operand = t.create<graph::SliceOp>(op.getLoc(), op.getResult().getType(), operand, op.getStartIndicesAttr(),
                                       op.getLimitIndicesAttr(), op.getStridesAttr());
  t.bind(op.getResult(), operand);
  return success();
}

LogicalResult convertPad(stablehlo::PadOp op, Translation &t) {
  t.bind(op.getResult(), t.create<graph::PadOp>(op.getLoc(), op.getResult().getType(), t.get(op.getOperand()),
                                                t.get(op.getPaddingValue()), op.getEdgePaddingLowAttr(),
                                                op.getEdgePaddingHighAttr(), op.getInteriorPaddingAttr()));
  return success();
}

LogicalResult convertConcatenate(stablehlo::ConcatenateOp op, Translation &t) {
  SmallVector<Value> operands;
  for (Value input : op.getInputs())
    operands.push_back(t.get(input));
  t.bind(op.getResult(), concat(t.builder, op.getLoc(), operands, op.getDimension()));
  return success();
}

LogicalResult convertReverse(stablehlo::ReverseOp op, Translation &t) {
  Value operand = t.get(op.getOperand());
  t.bind(op.getResult(), t.create<graph::ReverseOp>(op.getLoc(), operand.getType(), operand, op.getDimensionsAttr()));
  return success();
}

LogicalResult convertIota(stablehlo::IotaOp op, Translation &t) {
  t.bind(op.getOutput(), t.create<graph::IotaOp>(op.getLoc(), op.getOutput().getType(), op.getIotaDimensionAttr()));
  return success();
}

/// A start index, clamped so that `size` elements follow within `bound`; nullopt when it is known at run time only.
std::optional<int64_t> constantStart(Value index, int64_t size, int64_t bound) {
  std::optional<llvm::APInt> value = evaluateInteger(index);
  if (!value)
    return std::nullopt;
  bool isUnsigned = getElementTypeOrSelf(index.getType()).isUnsignedInteger();
  int64_t start = isUnsigned ? int64_t(value->getLimitedValue(INT64_MAX)) : value->getSExtValue();
  return std::clamp<int64_t>(start, 0, bound - size);
}

/// Constant starts cut; a start known at run time only becomes a gather of the rows start, start + 1, ...
LogicalResult convertDynamicSlice(stablehlo::DynamicSliceOp op, Translation &t) {
  Value value = t.get(op.getOperand());
  Location loc = op.getLoc();
  for (auto [dim, pair] : llvm::enumerate(llvm::zip(op.getStartIndices(), op.getSliceSizes()))) {
    auto [index, size] = pair;
    int64_t bound = graph::tensorType(value).getDimSize(dim);
    if (size == bound)
      continue;
    if (std::optional<int64_t> start = constantStart(index, size, bound)) {
      value = sliceDim(t.builder, loc, value, dim, *start, size);
      continue;
    }
    auto element = cast<RankedTensorType>(index.getType()).getElementType();
    auto idsType = RankedTensorType::get({size}, element);
    Value ids = broadcast(t.builder, loc, t.get(index), {size}, {});
    if (size > 1) {
      Value low = t.create<graph::MaxOp>(loc, idsType, ids, splat(t.builder, loc, idsType, 0));
      Value start = t.create<graph::MinOp>(loc, idsType, low, splat(t.builder, loc, idsType, bound - size));
      Value offsets = t.create<graph::IotaOp>(loc, idsType, t.builder.getI64IntegerAttr(0));
      ids = t.create<graph::AddOp>(loc, idsType, start, offsets);
    }
    SmallVector<int64_t> shape(graph::tensorType(value).getShape());
    shape[dim] = size;
    value = t.create<graph::GatherOp>(loc, graph::tensorType(value).clone(shape), value, ids, t.builder.getI64IntegerAttr(dim),
                                      t.builder.getI64IntegerAttr(0));
  }
  t.bind(op.getResult(), value);
  return success();
}

/// `operand` with `update` from `starts` on: before, middle and after of the first dimension that the update does not cover.
Value replacePart(OpBuilder &builder, Location loc, Value operand, Value update, Dims starts) {
  auto whole = graph::tensorType(operand).getShape(), part = graph::tensorType(update).getShape();
  for (auto [dim, sizes] : llvm::enumerate(llvm::zip(whole, part))) {
    auto [bound, size] = sizes;
    if (bound == size)
      continue;
    int64_t end = starts[dim] + size;
    Value middle = replacePart(builder, loc, sliceDim(builder, loc, operand, dim, starts[dim], size), update, starts);
    SmallVector<Value, 3> parts;
    if (starts[dim] > 0)
      parts.push_back(sliceDim(builder, loc, operand, dim, 0, starts[dim]));
    parts.push_back(middle);
    if (end < bound)
      parts.push_back(sliceDim(builder, loc, operand, dim, end, bound - end));
    return concat(builder, loc, parts, dim);
  }
  return update;
}

LogicalResult convertDynamicUpdateSlice(stablehlo::DynamicUpdateSliceOp op, Translation &t) {
  Value operand = t.get(op.getOperand()), update = t.get(op.getUpdate());
  SmallVector<int64_t> starts;
  for (auto [dim, index] : llvm::enumerate(op.getStartIndices())) {
    int64_t bound = graph::tensorType(operand).getDimSize(dim), size = graph::tensorType(update).getDimSize(dim);
    std::optional<int64_t> start = size == bound ? 0 : constantStart(index, size, bound);
    if (!start)
      return op.emitOpError() << "writes at an index of dimension " << dim
                              << " that is known at run time only; expected a constant or a loop counter";
    starts.push_back(*start);
  }
  t.bind(op.getResult(), replacePart(t.builder, op.getLoc(), operand, update, starts));
  return success();
}

} // namespace

void p3d::import::addShapeConverters(ConverterTable &table) {
  table.add<stablehlo::BroadcastInDimOp>(convertBroadcastInDim);
  table.add<stablehlo::BroadcastOp>(convertBroadcast);
  table.add<stablehlo::ReshapeOp>(convertReshape);
  table.add<stablehlo::TransposeOp>(convertTranspose);
  table.add<stablehlo::SliceOp>(convertSlice);
  table.add<stablehlo::PadOp>(convertPad);
  table.add<stablehlo::ConcatenateOp>(convertConcatenate);
  table.add<stablehlo::ReverseOp>(convertReverse);
  table.add<stablehlo::IotaOp>(convertIota);
  table.add<stablehlo::DynamicSliceOp>(convertDynamicSlice);
  table.add<stablehlo::DynamicUpdateSliceOp>(convertDynamicUpdateSlice);
}
