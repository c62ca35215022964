#include "frontend/model/TensorBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::model;

Value TensorBuilder::constant(double value, Type element, ArrayRef<int64_t> shape) {
  Attribute number = isa<FloatType>(element) ? Attribute(builder.getFloatAttr(element, value))
                                             : Attribute(builder.getIntegerAttr(element, int64_t(value)));
  auto scalar = RankedTensorType::get({}, element);
  Value result = builder.create<stablehlo::ConstantOp>(location, scalar, DenseElementsAttr::get(scalar, number));
  return shape.empty() ? result : broadcast(result, shape, {});
}

Value TensorBuilder::constant(ArrayRef<float> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, f32());
  return builder.create<stablehlo::ConstantOp>(location, type, DenseElementsAttr::get(type, values));
}

Value TensorBuilder::iota(ArrayRef<int64_t> shape, int64_t dim, Type element) {
  return builder.create<stablehlo::IotaOp>(location, RankedTensorType::get(shape, element), dim);
}

Value TensorBuilder::broadcast(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return builder.create<stablehlo::BroadcastInDimOp>(location, typeOf(value).clone(shape), value, dims);
}

Value TensorBuilder::broadcastVector(Value value, Value like) {
  return broadcast(value, typeOf(like).getShape(), {typeOf(like).getRank() - 1});
}

Value TensorBuilder::broadcastRows(Value value, Value like) {
  return broadcast(value, typeOf(like).getShape(), llvm::to_vector(llvm::seq<int64_t>(0, typeOf(like).getRank() - 1)));
}

Value TensorBuilder::convert(Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return value;
  return builder.create<stablehlo::ConvertOp>(location, typeOf(value).clone(element), value);
}

Value TensorBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  return builder.create<stablehlo::ReshapeOp>(location, typeOf(value).clone(shape), value);
}

Value TensorBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(typeOf(value).getDimSize(dim));
  return builder.create<stablehlo::TransposeOp>(location, typeOf(value).clone(shape), value, permutation);
}

Value TensorBuilder::slice(Value value, int64_t dim, int64_t start, int64_t limit) {
  Shape starts(typeOf(value).getRank(), 0), limits(typeOf(value).getShape()), strides(starts.size(), 1), shape = limits;
  starts[dim] = start;
  limits[dim] = limit;
  shape[dim] = limit - start;
  return builder.create<stablehlo::SliceOp>(location, typeOf(value).clone(shape), value, starts, limits, strides);
}

Value TensorBuilder::concatenate(ArrayRef<Value> values, int64_t dim) {
  Shape shape(typeOf(values.front()).getShape());
  shape[dim] = 0;
  for (Value value : values)
    shape[dim] += typeOf(value).getDimSize(dim);
  return builder.create<stablehlo::ConcatenateOp>(location, typeOf(values.front()).clone(shape), values, dim);
}

Value TensorBuilder::dot(Value lhs, Value rhs, const DotDims &dims, Type element) {
  Shape shape;
  for (int64_t dim : dims.lhsBatch)
    shape.push_back(typeOf(lhs).getDimSize(dim));
  auto appendFree = [&](Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
    for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contracting, dim))
        shape.push_back(typeOf(value).getDimSize(dim));
  };
  appendFree(lhs, dims.lhsBatch, dims.lhsContracting);
  appendFree(rhs, dims.rhsBatch, dims.rhsContracting);
  auto numbers = stablehlo::DotDimensionNumbersAttr::get(builder.getContext(), dims.lhsBatch, dims.rhsBatch,
                                                         dims.lhsContracting, dims.rhsContracting);
  auto type = RankedTensorType::get(shape, element ? element : typeOf(lhs).getElementType());
  return builder.create<stablehlo::DotGeneralOp>(location, type, lhs, rhs, numbers, ArrayAttr(),
                                                 stablehlo::DotAlgorithmAttr());
}

Value TensorBuilder::compare(stablehlo::ComparisonDirection direction, Value lhs, Value rhs) {
  auto kind = isa<FloatType>(typeOf(lhs).getElementType()) ? stablehlo::ComparisonType::FLOAT
                                                           : stablehlo::ComparisonType::SIGNED;
  MLIRContext *context = builder.getContext();
  return builder.create<stablehlo::CompareOp>(location, typeOf(lhs).clone(builder.getI1Type()), lhs, rhs,
                                              stablehlo::ComparisonDirectionAttr::get(context, direction),
                                              stablehlo::ComparisonTypeAttr::get(context, kind));
}

Value TensorBuilder::select(Value predicate, Value onTrue, Value onFalse) {
  return builder.create<stablehlo::SelectOp>(location, onTrue.getType(), predicate, onTrue, onFalse);
}

Value TensorBuilder::gather(Value operand, Value indices, stablehlo::GatherDimensionNumbersAttr dims,
                            ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape) {
  return builder.create<stablehlo::GatherOp>(location, typeOf(operand).clone(shape), operand, indices, dims, sizes,
                                             false);
}

Value TensorBuilder::takeRows(Value matrix, Value ids) {
  // As jnp.take counts: negative ids from the end.
  Value negative = compare(stablehlo::ComparisonDirection::LT, ids, splatLike(ids, 0));
  ids = select(negative, add(ids, splatLike(ids, typeOf(matrix).getDimSize(0))), ids);
  Shape shape(typeOf(ids).getShape()), indexShape = shape;
  int64_t rank = shape.size(), width = typeOf(matrix).getDimSize(1);
  shape.push_back(width);
  indexShape.push_back(1);
  auto dims = stablehlo::GatherDimensionNumbersAttr::get(builder.getContext(), {rank}, {0}, {}, {}, {0}, rank);
  return gather(matrix, reshape(ids, indexShape), dims, {1, width}, shape);
}

Value TensorBuilder::takeElements(Value rows, Value ids) {
  Shape shape(typeOf(ids).getShape()), indexShape = shape;
  int64_t rank = shape.size();
  indexShape.append({1, 1});
  Shape batch = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto dims =
      stablehlo::GatherDimensionNumbersAttr::get(builder.getContext(), {}, {rank}, batch, batch, {rank}, rank + 1);
  shape.push_back(1);
  Value picked = gather(rows, reshape(ids, indexShape), dims, Shape(rank + 1, 1), shape);
  return reshape(picked, typeOf(ids).getShape());
}

Value TensorBuilder::reduce(Value value, ArrayRef<int64_t> dims, double init, Combine combine) {
  Type element = typeOf(value).getElementType();
  Shape shape;
  for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(typeOf(value).getDimSize(dim));
  Value start = constant(init, element);
  auto op = builder.create<stablehlo::ReduceOp>(location, TypeRange(typeOf(value).clone(shape)), ValueRange(value),
                                                ValueRange(start), builder.getDenseI64ArrayAttr(dims));
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&op.getBody(), {}, {start.getType(), start.getType()}, {location, location});
  Value combined = combine(builder, location, body->getArgument(0), body->getArgument(1));
  builder.create<stablehlo::ReturnOp>(location, combined);
  return op->getResult(0);
}
