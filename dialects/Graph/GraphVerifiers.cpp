// Constraints of the graph operations; each message says what was found and what was expected.
#include "dialects/Graph/EinsumSpec.h"
#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace p3d::graph;

namespace {
/// Emits an error unless `found` equals `expected`.
LogicalResult expectShape(Operation *op, StringRef what, ArrayRef<int64_t> found, ArrayRef<int64_t> expected) {
  if (found == expected)
    return success();
  auto error = op->emitOpError() << what << " has shape [";
  llvm::interleaveComma(found, error);
  error << "], expected [";
  llvm::interleaveComma(expected, error);
  return error << "]";
}

LogicalResult expectRange(Operation *op, StringRef what, int64_t found, int64_t low, int64_t high) {
  if (found >= low && found < high)
    return success();
  return op->emitOpError() << what << " is " << found << ", expected at least " << low << " and below " << high;
}

LogicalResult expectCount(Operation *op, StringRef what, size_t found, size_t expected) {
  if (found == expected)
    return success();
  return op->emitOpError() << what << " has " << found << " entries, expected " << expected;
}

SmallVector<int64_t> dropLast(ArrayRef<int64_t> shape) {
  return SmallVector<int64_t>(shape.drop_back(shape.empty() ? 0 : 1));
}
} // namespace

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto block = symbols.lookupNearestSymbolFrom<BlockOp>((*this)->getParentOfType<ModuleOp>(), getCalleeAttr());
  if (!block)
    return emitOpError() << "calls '" << getCallee() << "', which is no graph.block of this module";
  if (TypeRange(getOperandTypes()) != TypeRange(block.getArgumentTypes()))
    return emitOpError() << "operand types (" << getOperandTypes() << ") differ from the arguments of '" << getCallee() << "' ("
                         << block.getArgumentTypes() << ")";
  if (TypeRange(getResultTypes()) != TypeRange(block.getResultTypes()))
    return emitOpError() << "result types (" << getResultTypes() << ") differ from those of '" << getCallee() << "' ("
                         << block.getResultTypes() << ")";
  return success();
}

LogicalResult SelectOp::verify() {
  return expectShape(*this, "predicate", getPredicate().getType().getShape(), getType().getShape());
}

LogicalResult IotaOp::verify() { return expectRange(*this, "dim", getDim(), 0, getType().getRank()); }

LogicalResult BroadcastOp::verify() {
  auto from = getOperand().getType().getShape(), to = getType().getShape();
  if (failed(expectCount(*this, "dims", getDims().size(), from.size())))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    if (failed(expectRange(*this, "dims entry", dim, i ? getDims()[i - 1] + 1 : 0, to.size())))
      return failure();
    if (from[i] != 1 && from[i] != to[dim])
      return emitOpError() << "operand dimension " << i << " of size " << from[i] << " becomes dimension " << dim
                           << " of size " << to[dim] << "; expected the same size or 1";
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (getOperand().getType().getNumElements() == getType().getNumElements())
    return success();
  return emitOpError() << "has a result of " << getType().getNumElements() << " elements, but its operand has "
                       << getOperand().getType().getNumElements() << "; expected as many";
}

LogicalResult TransposeOp::verify() {
  auto from = getOperand().getType().getShape();
  if (failed(expectCount(*this, "permutation", getPermutation().size(), from.size())))
    return failure();
  SmallVector<bool> seen(from.size());
  SmallVector<int64_t> expected;
  for (int64_t dim : getPermutation()) {
    if (failed(expectRange(*this, "permutation entry", dim, 0, from.size())))
      return failure();
    if (std::exchange(seen[dim], true))
      return emitOpError() << "permutation names dimension " << dim << " twice";
    expected.push_back(from[dim]);
  }
  return expectShape(*this, "result", getType().getShape(), expected);
}

LogicalResult SliceOp::verify() {
  auto from = getOperand().getType().getShape();
  if (failed(expectCount(*this, "starts", getStarts().size(), from.size())) ||
      failed(expectCount(*this, "limits", getLimits().size(), from.size())) ||
      failed(expectCount(*this, "strides", getStrides().size(), from.size())))
    return failure();
  SmallVector<int64_t> expected;
  for (auto [size, start, limit, stride] : llvm::zip(from, getStarts(), getLimits(), getStrides())) {
    if (start < 0 || limit < start || limit > size || stride < 1)
      return emitOpError() << "takes [" << start << ":" << limit << ":" << stride << "] of a dimension of size "
                           << size;
    expected.push_back(llvm::divideCeil(limit - start, stride));
  }
  return expectShape(*this, "result", getType().getShape(), expected);
}

LogicalResult PadOp::verify() {
  auto from = getOperand().getType().getShape();
  if (failed(expectCount(*this, "low", getLow().size(), from.size())) ||
      failed(expectCount(*this, "high", getHigh().size(), from.size())) ||
      failed(expectCount(*this, "interior", getInterior().size(), from.size())) ||
      failed(expectShape(*this, "value", getValue().getType().getShape(), {})))
    return failure();
  SmallVector<int64_t> expected;
  for (auto [size, low, high, interior] : llvm::zip(from, getLow(), getHigh(), getInterior())) {
    if (interior < 0)
      return emitOpError() << "interior padding of " << interior << ", expected 0 or more";
    expected.push_back(size + low + high + (size > 0 ? (size - 1) * interior : 0));
  }
  return expectShape(*this, "result", getType().getShape(), expected);
}

LogicalResult ConcatOp::verify() {
  auto to = getType().getShape();
  if (getOperands().empty())
    return emitOpError() << "has no operand";
  if (failed(expectRange(*this, "dim", getDim(), 0, to.size())))
    return failure();
  int64_t total = 0;
  for (Value operand : getOperands()) {
    SmallVector<int64_t> shape(tensorType(operand).getShape());
    if (failed(expectCount(*this, "operand shape", shape.size(), to.size())))
      return failure();
    total += shape[getDim()];
    shape[getDim()] = to[getDim()];
    if (failed(expectShape(*this, "operand, its concatenated dimension aside,", shape, to)))
      return failure();
  }
  return expectRange(*this, "sum of the concatenated sizes", total, to[getDim()], to[getDim()] + 1);
}

LogicalResult ReduceOp::verify() {
  auto from = getOperand().getType().getShape();
  SmallVector<int64_t> expected(from);
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (failed(expectRange(*this, "dims entry", dim, i ? getDims()[i - 1] + 1 : 0, from.size())))
      return failure();
  for (int64_t dim : llvm::reverse(getDims()))
    expected.erase(expected.begin() + dim);
  return expectShape(*this, "result", getType().getShape(), expected);
}

LogicalResult EinsumOp::verify() {
  auto spec = EinsumSpec::parse(getSpec());
  if (!spec)
    return emitOpError() << "spec '" << getSpec() << "' is not of the form \"ab,bc->ac\"";
  llvm::DenseMap<char, int64_t> sizes;
  for (auto &[letters, type] : {std::pair(&spec->lhs, getLhs().getType()), std::pair(&spec->rhs, getRhs().getType()),
                                std::pair(&spec->result, getType())}) {
    if (failed(expectCount(*this, "a tensor of '" + getSpec().str() + "'", type.getRank(), letters->size())))
      return failure();
    for (auto [letter, size] : llvm::zip(*letters, type.getShape())) {
      if (llvm::count(*letters, letter) > 1)
        return emitOpError() << "letter '" << letter << "' stands twice in '" << *letters << "'";
      bool isResult = letters == &spec->result;
      auto known = sizes.find(letter);
      if (isResult && known == sizes.end())
        return emitOpError() << "letter '" << letter << "' of the result stands in no operand";
      if (known != sizes.end() && known->second != size)
        return emitOpError() << "letter '" << letter << "' has sizes " << known->second << " and " << size;
      sizes[letter] = size;
    }
  }
  return success();
}

namespace {
/// Shape of a gather: x[:axis] + ids[batch:] + x[axis+1:].
LogicalResult verifyGather(Operation *op, ArrayRef<int64_t> x, ArrayRef<int64_t> ids, ArrayRef<int64_t> rows,
                           int64_t axis, int64_t batchDims) {
  if (failed(expectRange(op, "axis", axis, 0, x.size())) ||
      failed(expectRange(op, "batch_dims", batchDims, 0, std::min<int64_t>(axis, ids.size()) + 1)) ||
      failed(expectShape(op, "batch part of ids", ids.take_front(batchDims), x.take_front(batchDims))))
    return failure();
  SmallVector<int64_t> expected(x.take_front(axis));
  llvm::append_range(expected, ids.drop_front(batchDims));
  llvm::append_range(expected, x.drop_front(axis + 1));
  return expectShape(op, "gathered tensor", rows, expected);
}
} // namespace

LogicalResult GatherOp::verify() {
  return verifyGather(*this, getOperand().getType().getShape(), getIds().getType().getShape(), getType().getShape(),
                      getAxis(), getBatchDims());
}
LogicalResult ScatterAddOp::verify() {
  return verifyGather(*this, getType().getShape(), getIds().getType().getShape(), getUpdates().getType().getShape(),
                      getAxis(), getBatchDims());
}
LogicalResult EmbeddingOp::verify() {
  if (getTable().getType().getRank() != 2)
    return emitOpError() << "table has rank " << getTable().getType().getRank() << ", expected 2";
  return verifyGather(*this, getTable().getType().getShape(), getIds().getType().getShape(), getType().getShape(), 0,
                      0);
}

LogicalResult LayerNormOp::verify() {
  auto shape = getOperand().getType().getShape();
  if (shape.empty())
    return emitOpError() << "has an operand of rank 0, expected at least 1";
  if (failed(expectShape(*this, "scale", getScale().getType().getShape(), shape.take_back())) ||
      failed(expectShape(*this, "bias", getBias().getType().getShape(), shape.take_back())) ||
      failed(expectShape(*this, "mean", getMean().getType().getShape(), dropLast(shape))) ||
      failed(expectShape(*this, "rstd", getRstd().getType().getShape(), dropLast(shape))))
    return failure();
  return expectShape(*this, "result", getResult().getType().getShape(), shape);
}
LogicalResult RmsNormOp::verify() {
  auto shape = getOperand().getType().getShape();
  if (shape.empty())
    return emitOpError() << "has an operand of rank 0, expected at least 1";
  if (failed(expectShape(*this, "scale", getScale().getType().getShape(), shape.take_back())) ||
      failed(expectShape(*this, "rstd", getRstd().getType().getShape(), dropLast(shape))))
    return failure();
  return expectShape(*this, "result", getResult().getType().getShape(), shape);
}
LogicalResult SoftmaxCrossEntropyOp::verify() {
  auto rows = dropLast(getLogits().getType().getShape());
  if (getLogits().getType().getRank() == 0)
    return emitOpError() << "has logits of rank 0, expected at least 1";
  if (failed(expectShape(*this, "targets", getTargets().getType().getShape(), rows)) ||
      failed(expectShape(*this, "max", getMax().getType().getShape(), rows)) ||
      failed(expectShape(*this, "sum", getSum().getType().getShape(), rows)))
    return failure();
  return expectShape(*this, "loss", getLoss().getType().getShape(), rows);
}

LogicalResult RopeOp::verify() {
  auto x = getOperand().getType().getShape();
  if (failed(expectCount(*this, "operand shape", x.size(), 4)))
    return failure();
  if (x[3] % 2)
    return emitOpError() << "has an operand whose last dimension is " << x[3] << ", expected an even size";
  SmallVector<int64_t> table{x[0], x[1], x[3]};
  auto cos = getCos().getType().getShape();
  if (failed(expectShape(*this, "sin", getSin().getType().getShape(), cos)))
    return failure();
  return expectShape(*this, "cos", cos, ArrayRef(table).take_back(cos.size() == 2 ? 2 : 3));
}

LogicalResult AttentionOp::verify() {
  auto q = getQuery().getType().getShape(), k = getKey().getType().getShape();
  if (failed(expectCount(*this, "query shape", q.size(), 4)) || failed(expectCount(*this, "key shape", k.size(), 4)))
    return failure();
  if (k[2] == 0 || q[2] % k[2])
    return emitOpError() << "C1: " << q[2] << " query heads over " << k[2]
                         << " key heads; expected a multiple, so that each key head serves as many query heads";
  if (failed(expectShape(*this, "key", k, {q[0], k[1], k[2], q[3]})) ||
      failed(expectShape(*this, "value", getValue().getType().getShape(), k)) ||
      failed(expectShape(*this, "result", getResult().getType().getShape(), q)) ||
      failed(expectShape(*this, "lse", getLse().getType().getShape(), {q[0], q[2], q[1]})))
    return failure();
  if (!getMask())
    return success();
  auto mask = tensorType(getMask()).getShape();
  if (failed(expectCount(*this, "mask shape", mask.size(), 4)))
    return failure();
  SmallVector<int64_t> full{q[0], q[2], q[1], k[1]};
  for (int i = 0; i < 4; ++i)
    if (mask[i] == 1)
      full[i] = 1;
  return expectShape(*this, "mask", mask, full);
}
