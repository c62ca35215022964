#include "passes/Autodiff/Rules.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

void Gradients::add(Value value, Value gradient) {
  assert(gradient.getType() == value.getType() && "a gradient has the type of its value");
  Value &sum = sums[value];
  parts.push_back({value, gradient});
  if (!sum) {
    sum = gradient;
    return;
  }
  auto total = create<AddOp>(sum, gradient);
  Operation *source = value.getDefiningOp();
  total->setAttr(kOfAttr, source ? source->getAttr(kIdAttr) : builder.getI64IntegerAttr(0));
  sum = total;
  parts.push_back({value, sum});
}

Value Gradients::splat(RankedTensorType type, double value) {
  return create<ConstantOp>(type, DenseElementsAttr::get(type, Attribute(builder.getFloatAttr(type.getElementType(), value))));
}

Value Gradients::compare(ComparePredicate predicate, Value a, Value b) {
  auto type = RankedTensorType::get(tensorType(a).getShape(), builder.getI1Type());
  return create<CompareOp>(type, predicate, a, b);
}

Value Gradients::convert(Value value, Type elementType) {
  auto type = RankedTensorType::get(tensorType(value).getShape(), elementType);
  if (type == value.getType())
    return value;
  Value &known = conversions[{value, elementType}];
  if (!known)
    known = create<ConvertOp>(type, value);
  return known;
}

Value Gradients::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, tensorType(value).getElementType());
  return type == value.getType() ? value : create<ReshapeOp>(type, value).getResult();
}

Value Gradients::transpose(Value value, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(tensorType(value).getDimSize(dim));
  return create<TransposeOp>(RankedTensorType::get(shape, tensorType(value).getElementType()), value, permutation);
}

Value Gradients::sum(Value value, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return value;
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(tensorType(value).getShape()))
    if (!llvm::is_contained(dims, int64_t(dim)))
      shape.push_back(size);
  return create<ReduceOp>(RankedTensorType::get(shape, tensorType(value).getElementType()), ReduceKind::Sum, value, dims);
}

Value Gradients::broadcast(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  auto type = RankedTensorType::get(shape, tensorType(value).getElementType());
  return type == value.getType() ? value : create<BroadcastOp>(type, value, dims).getResult();
}

Value Gradients::broadcastAlong(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(dim);
  return broadcast(value, shape, kept);
}

const RuleTable &p3d::getRules() {
  static const RuleTable table = [] {
    RuleTable rules;
    addElementwiseRules(rules);
    addShapeRules(rules);
    addCombiningRules(rules);
    addNamedRules(rules);
    return rules;
  }();
  return table;
}

bool p3d::passesGradient(Operation *op) {
  const RuleTable::Entry *entry = getRules().lookup(op->getName().getTypeID());
  return !entry || entry->kind != RuleTable::Kind::Stops;
}
