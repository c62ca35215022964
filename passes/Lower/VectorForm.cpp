#include "passes/Lower/VectorForm.h"
#include "dialects/Graph/TensorBytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace p3d;
using namespace p3d::lower;

/// A factor of `number`, from those of the parameters that it is made of.
static int64_t multipleOf(Value number, const ParameterMultiples &multiples) {
  if (auto parameter = dyn_cast<BlockArgument>(number))
    return multiples[parameter.getArgNumber()];
  Operation *op = number.getDefiningOp();
  if (isa<arith::IndexCastOp>(op))
    return multipleOf(op->getOperand(0), multiples);
  if (isa<arith::MulIOp>(op))
    return multipleOf(op->getOperand(0), multiples) * multipleOf(op->getOperand(1), multiples);
  if (isa<arith::AddIOp>(op))
    return std::gcd(multipleOf(op->getOperand(0), multiples), multipleOf(op->getOperand(1), multiples));
  return getConstantIntValue(number).value_or(1);
}

int64_t p3d::lower::vectorWidth(linalg::GenericOp generic, const ParameterMultiples &multiples) {
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  bool isElementwise = !sizes.empty() && generic.getNumParallelLoops() == sizes.size() && generic.getNumDpsInits() == 1;
  if (!isElementwise)
    return 1;
  SmallVector<VectorOperand> operands;
  for (OpOperand &operand : generic->getOpOperands())
    operands.emplace_back(generic, operand);
  if (!operands.back().moves())
    return 1;
  constexpr int64_t kMost = 8;
  auto out = cast<MemRefType>(generic.getDpsInits()[0].getType());
  for (int64_t width = std::min(kMost, 16 / graph::elementBytes(out)); width > 1; width /= 2)
    if (sizes.back() % width == 0 &&
        llvm::all_of(operands, [&](const VectorOperand &operand) { return operand.allows(width, multiples); }))
      return width;
  return 1;
}

FunctionType p3d::lower::typeWithBytes(FunctionType kernel, const llvm::BitVector &memories) {
  Builder builder(kernel.getContext());
  SmallVector<Type> types;
  for (auto [number, type] : llvm::enumerate(kernel.getInputs())) {
    auto memory = memories.test(number) ? dyn_cast<MemRefType>(type) : MemRefType();
    types.push_back(memory ? MemRefType::get({exec::bytesOf(memory)}, builder.getI8Type()) : type);
  }
  return builder.getFunctionType(types, {});
}

VectorOperand::VectorOperand(linalg::GenericOp generic, OpOperand &operand) : loc(generic.getLoc()) {
  auto type = cast<MemRefType>(operand.get().getType());
  auto view = operand.get().getDefiningOp<memref::ReinterpretCastOp>();
  memory = cast<BlockArgument>(view ? view.getSource() : operand.get());
  offset = view ? view.getMixedOffsets()[0] : OpFoldResult(Builder(type.getContext()).getIndexAttr(0));
  elementBytes = graph::elementBytes(type);
  steps.assign(generic.getNumLoops(), 0);
  auto [strides, start] = getStridesAndOffset(type);
  for (auto [expr, stride] : llvm::zip(generic.getMatchingIndexingMap(&operand).getResults(), strides))
    steps[cast<AffineDimExpr>(expr).getPosition()] = stride;
}

bool VectorOperand::allows(int64_t width, const ParameterMultiples &multiples) const {
  if (!moves())
    return true;
  int64_t elements = isa<Attribute>(offset) ? *getConstantIntValue(offset) : multipleOf(cast<Value>(offset), multiples);
  for (int64_t step : ArrayRef(steps).drop_back())
    elements = std::gcd(elements, step);
  int64_t aligned = std::gcd(multiples[memory.getArgNumber()], elements * elementBytes);
  return steps.back() == 1 && aligned % (lanesOf(width) * elementBytes) == 0;
}

Value VectorOperand::vectors(OpBuilder &builder, const Place &place) const {
  auto type = cast<MemRefType>(memory.getType());
  int64_t lanes = lanesOf(place.width);
  auto vector = VectorType::get({lanes}, type.getElementType());
  Value none = builder.create<arith::ConstantIndexOp>(loc, 0);
  return builder.create<memref::ViewOp>(loc, MemRefType::get({type.getNumElements() / lanes}, vector),
                                        place.parameters[memory.getArgNumber()], none, ValueRange());
}

Value VectorOperand::first(OpBuilder &builder, const Place &place) const {
  int64_t lanes = lanesOf(place.width);
  auto index = [&](int64_t value) -> Value { return builder.create<arith::ConstantIndexOp>(loc, value); };
  Value sum =
      isa<Attribute>(offset)
          ? index(*getConstantIntValue(offset) / lanes)
          : builder.create<arith::DivUIOp>(loc, place.mapping.lookup(cast<Value>(offset)), index(lanes)).getResult();
  for (auto [loop, step] : llvm::enumerate(steps)) {
    int64_t factor = loop + 1 == steps.size() ? place.width / lanes : step / lanes;
    if (factor)
      sum = builder.create<arith::AddIOp>(loc, sum,
                                          builder.create<arith::MulIOp>(loc, place.positions[loop], index(factor)));
  }
  return sum;
}

SmallVector<Value> VectorOperand::load(OpBuilder &builder, const Place &place) const {
  Value memory = vectors(builder, place), number = first(builder, place);
  SmallVector<Value> neighbours;
  for (int64_t part = 0; part < place.width / lanesOf(place.width); ++part) {
    Value at = builder.create<arith::AddIOp>(loc, number, builder.create<arith::ConstantIndexOp>(loc, part));
    Value vector = builder.create<memref::LoadOp>(loc, memory, at);
    for (int64_t lane = 0; lane < lanesOf(place.width); ++lane)
      neighbours.push_back(builder.create<vector::ExtractOp>(loc, vector, lane));
  }
  return neighbours;
}

void VectorOperand::store(OpBuilder &builder, ArrayRef<Value> lanes, const Place &place) const {
  Value memory = vectors(builder, place), number = first(builder, place);
  auto type = cast<MemRefType>(memory.getType()).getElementType();
  int64_t count = lanesOf(place.width);
  for (int64_t part = 0; part < place.width / count; ++part) {
    Value at = builder.create<arith::AddIOp>(loc, number, builder.create<arith::ConstantIndexOp>(loc, part));
    Value vector = builder.create<vector::FromElementsOp>(loc, type, lanes.slice(part * count, count));
    builder.create<memref::StoreOp>(loc, vector, memory, at);
  }
}
