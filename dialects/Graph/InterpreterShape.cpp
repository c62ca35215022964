// The interpreter's operations that move elements without computing with them.
#include "dialects/Graph/InterpreterOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace p3d::graph;
using namespace p3d::graph::interpreter;

namespace {
/// A tensor of the type of `value` whose element at an index is the element of `from` at position source(index).
template <typename Fn> Tensor pick(RankedTensorType type, const Tensor &from, Fn source) {
  Tensor result(type);
  forEachIndex(result.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    copyElement(result, position, from, source(index));
  });
  return result;
}

/// Which row an id chooses of a table or of a shard of one.
class RowChoice {
public:
  /// With `shard`, whose dimension is that of the rows, `rows` are those of the shard.
  RowChoice(const Tensor &ids, int64_t rows, const ShardPosition *shard, bool countsFromEnd = false)
      : ids(ids), rows(rows), shard(shard), isUnsigned(ids.elementType.isUnsignedInteger()), countsFromEnd(countsFromEnd && !isUnsigned) {}

  /// The row of the id at `position`; nullopt where another shard has it. Ids outside of the whole table are clamped.
  std::optional<int64_t> operator()(int64_t position) const {
    int64_t id = ids.ints[position], all = shard ? shard->full : rows;
    if (countsFromEnd && id < 0)
      id += all;
    id = isUnsigned && id < 0 ? all - 1 : std::clamp<int64_t>(id, 0, all - 1);
    int64_t row = shard ? id - shard->start : id;
    return row >= 0 && row < rows ? std::optional(row) : std::nullopt;
  }

private:
  const Tensor &ids;
  int64_t rows;
  const ShardPosition *shard;
  bool isUnsigned, countsFromEnd;
};

/// The positions that gather reads and scatter_add writes, for each index of the gathered rows.
class GatherPositions {
public:
  GatherPositions(ArrayRef<int64_t> tableShape, const Tensor &ids, int64_t axis, int64_t batchDims, const ShardPosition *shard)
      : choice(ids, tableShape[axis], shard && shard->dim == axis ? shard : nullptr), ids(ids), axis(axis), batchDims(batchDims), idStrides(ids.strides()) {
    Tensor table;
    table.shape.assign(tableShape.begin(), tableShape.end());
    tableStrides = table.strides();
  }

  std::optional<int64_t> operator()(ArrayRef<int64_t> index) const {
    int64_t idDims = ids.rank() - batchDims, idPosition = 0, position = 0;
    for (int64_t dim = 0; dim < ids.rank(); ++dim)
      idPosition += index[dim < batchDims ? dim : axis + dim - batchDims] * idStrides[dim];
    for (int64_t dim = 0; dim < int64_t(tableStrides.size()); ++dim)
      if (dim != axis)
        position += index[dim < axis ? dim : dim - 1 + idDims] * tableStrides[dim];
    std::optional<int64_t> row = choice(idPosition);
    return row ? std::optional(position + *row * tableStrides[axis]) : std::nullopt;
  }

private:
  RowChoice choice;
  const Tensor &ids;
  int64_t axis, batchDims;
  SmallVector<int64_t> idStrides, tableStrides;
};

Tensor iota(IotaOp op, const ShardPosition *shard) {
  Tensor result = zeros(op.getResult());
  int64_t start = shard && shard->dim == int64_t(op.getDim()) ? shard->start : 0;
  forEachIndex(result.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    if (result.isFloat())
      result.floats[position] = start + index[op.getDim()];
    else
      result.ints[position] = wrapInteger(start + index[op.getDim()], result.elementType);
  });
  return result;
}

Tensor broadcast(BroadcastOp op, const Tensor &from) {
  SmallVector<int64_t> strides = from.strides(), resultStrides(op.getType().getRank(), 0);
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    resultStrides[dim] = from.shape[i] == 1 ? 0 : strides[i];
  return pick(op.getType(), from, [&](ArrayRef<int64_t> index) { return positionOf(index, resultStrides); });
}

Tensor reshape(ReshapeOp op, const Tensor &from) {
  Tensor result = from;
  result.shape.assign(op.getType().getShape().begin(), op.getType().getShape().end());
  return result;
}

Tensor slice(SliceOp op, const Tensor &from) {
  SmallVector<int64_t> strides = from.strides();
  int64_t start = positionOf(op.getStarts(), strides);
  for (auto [stride, step] : llvm::zip(strides, op.getStrides()))
    stride *= step;
  return pick(op.getType(), from, [&](ArrayRef<int64_t> index) { return start + positionOf(index, strides); });
}

Tensor pad(PadOp op, const Tensor &from, const Tensor &value) {
  Tensor result = zeros(op.getResult());
  SmallVector<int64_t> strides = from.strides();
  forEachIndex(result.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    int64_t source = 0;
    bool inside = true;
    for (int64_t dim = 0; dim < result.rank(); ++dim) {
      int64_t offset = index[dim] - op.getLow()[dim], step = op.getInterior()[dim] + 1;
      inside &= offset >= 0 && offset % step == 0 && offset / step < from.shape[dim];
      source += offset / step * strides[dim];
    }
    copyElement(result, position, inside ? from : value, inside ? source : 0);
  });
  return result;
}

Tensor concat(ConcatOp op, Operands in) {
  Tensor result = zeros(op.getResult());
  SmallVector<int64_t> strides = result.strides();
  int64_t start = 0, dim = op.getDim();
  for (const Tensor *operand : in) {
    forEachIndex(operand->shape, [&](int64_t position, ArrayRef<int64_t> index) {
      copyElement(result, start * strides[dim] + positionOf(index, strides), *operand, position);
    });
    start += operand->shape[dim];
  }
  return result;
}

Tensor reverse(ReverseOp op, const Tensor &from) {
  SmallVector<int64_t> strides = from.strides();
  int64_t start = 0;
  for (int64_t dim : op.getDims()) {
    start += (from.shape[dim] - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  return pick(op.getType(), from, [&](ArrayRef<int64_t> index) { return start + positionOf(index, strides); });
}

Tensor gather(GatherOp op, const Tensor &from, const Tensor &ids, const ShardPosition *shard) {
  Tensor result = zeros(op.getResult());
  GatherPositions source(from.shape, ids, op.getAxis(), op.getBatchDims(), shard);
  forEachIndex(result.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    if (std::optional<int64_t> there = source(index))
      copyElement(result, position, from, *there);
  });
  return result;
}

Tensor scatterAdd(ScatterAddOp op, const Tensor &updates, const Tensor &ids, const ShardPosition *shard) {
  Tensor result = zeros(op.getResult());
  GatherPositions target(result.shape, ids, op.getAxis(), op.getBatchDims(), shard);
  forEachIndex(updates.shape, [&](int64_t position, ArrayRef<int64_t> index) {
    std::optional<int64_t> to = target(index);
    if (!to)
      return;
    if (result.isFloat())
      result.floats[*to] += updates.floats[position];
    else
      result.ints[*to] = wrapInteger(uint64_t(result.ints[*to]) + uint64_t(updates.ints[position]), result.elementType);
  });
  return result;
}

/// Ids in [-v, v); the others are clamped, as gather does.
RowChoice embeddingRow(const Tensor &ids, int64_t rows, const ShardPosition *shard) {
  return RowChoice(ids, rows, shard && shard->dim == 0 ? shard : nullptr, /*countsFromEnd=*/true);
}

Tensor embedding(EmbeddingOp op, const Tensor &table, const Tensor &ids, const ShardPosition *shard) {
  Tensor result = zeros(op.getResult());
  RowChoice choice = embeddingRow(ids, table.shape[0], shard);
  int64_t width = table.shape[1];
  for (int64_t i = 0; i < ids.size(); ++i)
    if (std::optional<int64_t> row = choice(i))
      std::copy_n(table.floats.begin() + *row * width, width, result.floats.begin() + i * width);
  return result;
}

Tensor embeddingGrad(EmbeddingGradOp op, const Tensor &gradient, const Tensor &ids, const ShardPosition *shard) {
  Tensor result = zeros(op.getDTable());
  RowChoice choice = embeddingRow(ids, result.shape[0], shard);
  int64_t width = result.shape[1];
  for (int64_t i = 0; i < ids.size(); ++i)
    if (std::optional<int64_t> row = choice(i))
      for (int64_t j = 0; j < width; ++j)
        result.floats[*row * width + j] += gradient.floats[i * width + j];
  return result;
}

/// Whether element a comes before b; NaN is larger than every number.
template <typename T> bool precedes(T a, T b, bool descending) {
  if (descending)
    std::swap(a, b);
  return std::isnan(double(b)) ? !std::isnan(double(a)) : a < b;
}

/// The order of the `length` elements from `start`; equal ones keep theirs.
SmallVector<int64_t> sortedOrder(const Tensor &from, int64_t start, int64_t length, bool descending) {
  SmallVector<int64_t> order(length);
  std::iota(order.begin(), order.end(), start);
  bool isUnsigned = from.elementType.isUnsignedInteger();
  llvm::stable_sort(order, [&](int64_t a, int64_t b) {
    if (from.isFloat())
      return precedes(from.floats[a], from.floats[b], descending);
    if (isUnsigned)
      return precedes<uint64_t>(from.ints[a], from.ints[b], descending);
    return precedes(from.ints[a], from.ints[b], descending);
  });
  return order;
}

/// The first elements of each sorted row, and where they stood.
Tensors sortRows(Operation *op, const Tensor &from, bool descending) {
  Tensor values = zeros(op->getResult(0)), indices = zeros(op->getResult(1));
  Rows rows(from);
  int64_t kept = values.shape.back();
  for (int64_t row = 0; row < rows.count; ++row) {
    auto order = sortedOrder(from, row * rows.length, rows.length, descending);
    for (int64_t i = 0; i < kept; ++i) {
      copyElement(values, row * kept + i, from, order[i]);
      indices.ints[row * kept + i] = order[i] - row * rows.length;
    }
  }
  Tensors results;
  results.push_back(std::move(values));
  results.push_back(std::move(indices));
  return results;
}
} // namespace

Tensor interpreter::transpose(const Tensor &operand, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> strides = operand.strides(), shape, resultStrides;
  for (int64_t dim : permutation) {
    shape.push_back(operand.shape[dim]);
    resultStrides.push_back(strides[dim]);
  }
  return pick(RankedTensorType::get(shape, operand.elementType), operand,
              [&](ArrayRef<int64_t> index) { return positionOf(index, resultStrides); });
}

std::optional<Tensors> interpreter::evaluateShape(Operation *op, Operands in, const ShardPosition *shard) {
  return TypeSwitch<Operation *, std::optional<Tensors>>(op)
      .Case([&](IotaOp op) { return single(iota(op, shard)); })
      .Case([&](BroadcastOp op) { return single(broadcast(op, *in[0])); })
      .Case([&](ReshapeOp op) { return single(reshape(op, *in[0])); })
      .Case([&](TransposeOp op) { return single(transpose(*in[0], op.getPermutation())); })
      .Case([&](SliceOp op) { return single(slice(op, *in[0])); })
      .Case([&](PadOp op) { return single(pad(op, *in[0], *in[1])); })
      .Case([&](ConcatOp op) { return single(concat(op, in)); })
      .Case([&](ConstrainOp) { return single(*in[0]); })
      .Case([&](ReverseOp op) { return single(reverse(op, *in[0])); })
      .Case([&](GatherOp op) { return single(gather(op, *in[0], *in[1], shard)); })
      .Case([&](ScatterAddOp op) { return single(scatterAdd(op, *in[0], *in[1], shard)); })
      .Case([&](EmbeddingOp op) { return single(embedding(op, *in[0], *in[1], shard)); })
      .Case([&](EmbeddingGradOp op) { return single(embeddingGrad(op, *in[0], *in[1], shard)); })
      .Case([&](TopKOp op) { return sortRows(op, *in[0], /*descending=*/true); })
      .Case([&](SortOp op) { return sortRows(op, *in[0], op.getDescending()); })
      .Default([](Operation *) { return std::nullopt; });
}
