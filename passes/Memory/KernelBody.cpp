#include "passes/Memory/KernelBody.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Exec/ExecOps.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Memory/ScalarExpr.h"
#include "passes/Memory/ScalarMath.h"
#include "passes/Memory/ShapeIndices.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

KernelBody::KernelBody(MLIRContext *context, unsigned loopCount, function_ref<Value(Value)> memoryOf,
                       function_ref<Value(Operation *)> startOf)
    : builder(context), loopCount(loopCount), memoryOf(memoryOf), startOf(startOf) {
  builder.setInsertionPointToEnd(&body);
}

Value KernelBody::scalar(Value tensor, ArrayRef<LinearIndex> indices) {
  for (const Known &entry : known)
    if (entry.tensor == tensor && ArrayRef(entry.indices) == indices)
      return entry.scalar;
  Value memory = memoryOf(tensor);
  Value result = memory ? read(tensor, memory, indices) : compute(tensor, indices);
  known.push_back({tensor, Indices(indices), result});
  return result;
}

Value KernelBody::read(Value tensor, Value memory, ArrayRef<LinearIndex> indices) {
  auto type = graph::tensorType(tensor);
  LinearIndex index = linearize(type.getShape(), indices, loopCount);
  Type element = type.getElementType();
  for (auto [i, earlier] : llvm::enumerate(reads))
    if (earlier.memory == memory && earlier.index == index)
      return fromMemory(builder, tensor.getLoc(), body.getArgument(i), element);
  for (auto [start, factor] : index.starts)
    number(start);
  reads.push_back({memory, index});
  return fromMemory(builder, tensor.getLoc(), body.addArgument(exec::memoryElement(element), tensor.getLoc()), element);
}

Value KernelBody::number(Value start) {
  auto *found = llvm::find(starts, start);
  if (found != starts.end())
    return numbers.getArgument(found - starts.begin());
  starts.push_back(start);
  return numbers.addArgument(builder.getI64Type(), start.getLoc());
}

Value KernelBody::indexScalar(Location loc, const LinearIndex &index) {
  Value sum = builder.create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(index.constant));
  auto addTerm = [&](Value term, int64_t factor) {
    Value scale = builder.create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(factor));
    Value product = factor == 1 ? term : Value(builder.create<arith::MulIOp>(loc, term, scale));
    sum = builder.create<arith::AddIOp>(loc, sum, product);
  };
  for (auto [loop, factor] : llvm::enumerate(index.loops))
    if (factor != 0) {
      Value position = builder.create<linalg::IndexOp>(loc, loop);
      addTerm(builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), position), factor);
    }
  for (auto [start, factor] : index.starts)
    addTerm(number(start), factor);
  return sum;
}

Value KernelBody::iota(Operation *op, ArrayRef<LinearIndex> indices) {
  auto iota = cast<graph::IotaOp>(op);
  LinearIndex index = indices[iota.getDim()];
  if (Value start = startOf(op))
    index.starts.emplace_back(start, 1);
  Value position = indexScalar(op->getLoc(), index);
  Type element = iota.getType().getElementType(), type = computeType(element);
  ScalarExpr e(builder, op->getLoc());
  if (isa<FloatType>(type))
    return roundTo(builder, op->getLoc(), e.create<arith::SIToFPOp>(type, position), element);
  unsigned width = type.getIntOrFloatBitWidth();
  return width == 64 ? position : e.create<arith::TruncIOp>(type, position);
}

Value KernelBody::maskPadding(Operation *op, ArrayRef<LinearIndex> indices) {
  auto mask = cast<dist::MaskPaddingOp>(op);
  LinearIndex row = indices[mask.getShard().getDim()];
  if (Value start = startOf(op))
    row.starts.emplace_back(start, 1);
  Value inside = scalar(mask.getOperand(), indices);
  if (!inside)
    return {};
  ScalarExpr e(builder, op->getLoc());
  Value limit = builder.create<arith::ConstantOp>(op->getLoc(), builder.getI64IntegerAttr(mask.getShard().getFull()));
  Value isInside = e.compare(arith::CmpIPredicate::slt, indexScalar(op->getLoc(), row), limit);
  return e.select(isInside, inside, e.constant(inside.getType(), mask.getValue().convertToDouble()));
}

Value KernelBody::elementwise(Value tensor, ArrayRef<LinearIndex> indices) {
  Operation *op = tensor.getDefiningOp();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(scalar(operand, indices));
    if (!operands.back())
      return {};
  }
  return scalarOp(builder, op, cast<OpResult>(tensor).getResultNumber(), operands);
}

Value KernelBody::compute(Value tensor, ArrayRef<LinearIndex> indices) {
  Operation *op = tensor.getDefiningOp();
  if (isIndexChange(op))
    return scalar(op->getOperand(0), operandIndices(op, indices, loopCount, startOf));
  if (isa<graph::IotaOp>(op))
    return iota(op, indices);
  if (isa<dist::MaskPaddingOp>(op))
    return maskPadding(op, indices);
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    auto value = cast<DenseElementsAttr>(constant.getValue());
    ScalarExpr e(builder, op->getLoc());
    Type element = value.getElementType(), type = computeType(element);
    if (isa<FloatType>(element))
      return e.constant(type, value.getSplatValue<APFloat>().convertToDouble());
    return e.constant(type, value.getSplatValue<APInt>());
  }
  return elementwise(tensor, indices);
}
