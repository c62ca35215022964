#include "Shards.h"
#include "mlir/IR/Builders.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
bool isCut(const DimFactors &dim, int factor) { return !dim.empty() && dim.front() == factor; }

SmallVector<int64_t> localShape(ArrayRef<int64_t> shape, const TensorFactors &dims, int factor, int64_t parts) {
  SmallVector<int64_t> local(shape);
  for (auto [size, dim] : llvm::zip(local, dims))
    if (isCut(dim, factor))
      size /= parts;
  return local;
}

/// Calls `visit` with each position of part `part` in the whole tensor and in the part.
void forEachElement(const Tensor &whole, const Tensor &shard, const TensorFactors &dims, int factor, int64_t part,
                    llvm::function_ref<void(int64_t, int64_t)> visit) {
  auto strides = whole.strides(), shardStrides = shard.strides();
  for (int64_t at = 0; at < shard.size(); ++at) {
    int64_t position = 0;
    for (int64_t d = 0, rest = at; d < shard.rank(); ++d) {
      int64_t index = rest / shardStrides[d];
      rest %= shardStrides[d];
      position += (index + (isCut(dims[d], factor) ? part * shard.shape[d] : 0)) * strides[d];
    }
    visit(position, at);
  }
}

template <typename T> T combined(T a, T b, ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum: return a + b;
  case ReduceKind::Prod: return a * b;
  case ReduceKind::Max: return std::max(a, b);
  case ReduceKind::Min: return std::min(a, b);
  case ReduceKind::And: return a && b;
  case ReduceKind::Or: return a || b;
  }
  llvm_unreachable("all kinds are handled");
}

/// Puts the result of one part into that of the whole.
void putTogether(Tensor &whole, const Tensor &shard, const TensorFactors &dims, const Factor &rule, int factor, int64_t part) {
  bool isPartial = llvm::none_of(dims, [&](const DimFactors &dim) { return isCut(dim, factor); });
  forEachElement(whole, shard, dims, factor, part, [&](int64_t to, int64_t from) {
    bool combines = isPartial && part > 0;
    if (whole.isFloat())
      whole.floats[to] = combines ? combined(whole.floats[to], shard.floats[from], rule.reduce) : shard.floats[from];
    else
      whole.ints[to] = combines ? combined(whole.ints[to], shard.ints[from], rule.reduce) : shard.ints[from];
  });
}
} // namespace

int64_t p3d::partsOf(int64_t size) {
  for (int64_t parts = 2; parts < size; ++parts)
    if (size % parts == 0)
      return parts;
  return size;
}

Tensor p3d::shardOf(const Tensor &tensor, const TensorFactors &dims, int factor, int64_t part, int64_t parts) {
  Tensor shard(localShape(tensor.shape, dims, factor, parts), tensor.elementType);
  forEachElement(tensor, shard, dims, factor, part, [&](int64_t from, int64_t to) {
    if (tensor.isFloat())
      shard.floats[to] = tensor.floats[from];
    else
      shard.ints[to] = tensor.ints[from];
  });
  return shard;
}

Tensors p3d::evaluateLocally(Operation *op, const FactorRule &rule, int factor, int64_t parts, ArrayRef<Tensor> operands) {
  Block block;
  OperationState state(op->getLoc(), op->getName());
  SmallVector<const Tensor *> pointers;
  for (const Tensor &operand : operands) {
    state.addOperands(block.addArgument(operand.type(), op->getLoc()));
    pointers.push_back(&operand);
  }
  for (auto [type, dims] : llvm::zip(op->getResultTypes(), rule.results)) {
    auto whole = cast<RankedTensorType>(type);
    state.addTypes(whole.clone(localShape(whole.getShape(), dims, factor, parts)));
  }
  state.attributes = op->getAttrDictionary();
  OwningOpRef<Operation *> local = Operation::create(state);
  if (auto slice = dyn_cast<SliceOp>(*local)) {
    SmallVector<int64_t> limits(slice.getLimits());
    for (auto [limit, dims, size] : llvm::zip(limits, rule.operands[0], operands[0].shape))
      limit = isCut(dims, factor) ? size : limit;
    slice.setLimits(limits);
  }
  if (auto constant = dyn_cast<ConstantOp>(*local); constant && factor >= 0)
    constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(constant.getType())));
  FailureOr<Tensors> results = evaluate(*local, pointers);
  EXPECT_TRUE(succeeded(results)) << op->getName().getStringRef().str();
  return succeeded(results) ? *results : Tensors();
}

Tensors p3d::evaluateInParts(Operation *op, const FactorRule &rule, int factor, ArrayRef<Tensor> operands) {
  int64_t parts = partsOf(rule.factors[factor].size);
  Tensors whole;
  for (Type type : op->getResultTypes())
    whole.emplace_back(cast<RankedTensorType>(type));
  for (int64_t part = 0; part < parts; ++part) {
    std::vector<Tensor> local;
    for (auto [operand, dims] : llvm::zip(operands, rule.operands))
      local.push_back(shardOf(operand, dims, factor, part, parts));
    Tensors results = evaluateLocally(op, rule, factor, parts, local);
    for (auto [to, from, dims] : llvm::zip(whole, results, rule.results))
      putTogether(to, from, dims, rule.factors[factor], factor, part);
  }
  return whole;
}
