// gather and scatter. StableHLO's general forms are brought to rows along one axis, with leading batch dimensions: dimensions that are
// indexed by their own position become batch dimensions, several indexed dimensions become one.
#include "passes/Import/GraphPatterns.h"
#include "passes/Import/Translation.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// What gather and scatter have in common: an operand, rows of indices, and windows around them.
struct Indexing {
  Operation *op;
  int64_t indexVectorDim;
  SmallVector<int64_t> offsetDims;        ///< dimensions of the rows (gather's result, scatter's updates) that come from windows
  SmallVector<int64_t> collapsedDims;     ///< operand dimensions that windows lack
  SmallVector<int64_t> operandBatchDims, indexBatchDims;
  SmallVector<int64_t> indexMap;          ///< component i of an index belongs to this operand dimension
  SmallVector<int64_t> sliceSizes;
};

/// Whether `dims` are different dimensions of a tensor of `rank`.
bool areDimensions(SmallVector<int64_t> dims, int64_t rank) {
  llvm::sort(dims);
  return llvm::all_of(dims, [&](int64_t dim) { return dim >= 0 && dim < rank; }) &&
         std::adjacent_find(dims.begin(), dims.end()) == dims.end();
}

/// The numbers must name dimensions that are there, each once, before anything is read by them.
LogicalResult checkNumbers(const Indexing &x, ShapedType operand, ShapedType indices, ShapedType rows) {
  bool hasVector = x.indexVectorDim < indices.getRank();
  SmallVector<int64_t> withoutWindow(x.collapsedDims), notRows(x.indexBatchDims);
  llvm::append_range(withoutWindow, x.operandBatchDims);
  if (hasVector)
    notRows.push_back(x.indexVectorDim);
  bool fit = x.indexVectorDim >= 0 && x.indexVectorDim <= indices.getRank() && areDimensions(notRows, indices.getRank()) &&
             areDimensions(x.offsetDims, rows.getRank()) && llvm::is_sorted(x.offsetDims) &&
             areDimensions(withoutWindow, operand.getRank()) && areDimensions(x.indexMap, operand.getRank()) &&
             x.operandBatchDims.size() == x.indexBatchDims.size();
  fit = fit && rows.getRank() == int64_t(x.offsetDims.size()) + indices.getRank() - hasVector &&
        operand.getRank() == int64_t(x.offsetDims.size() + withoutWindow.size()) &&
        int64_t(x.indexMap.size()) == (hasVector ? indices.getDimSize(x.indexVectorDim) : 1) &&
        (x.sliceSizes.empty() || int64_t(x.sliceSizes.size()) == operand.getRank());
  return fit ? success() : x.op->emitOpError() << "has dimension numbers that do not fit its operands";
}

/// An operand dimension and the tensor of its indices.
struct IndexedDim {
  int64_t dim;
  Value ids;
};

/// The indexing as graph.gather has it: `operandOrder` brings the operand to [batch, window, indexed, window], `ids` are [batch, rest],
/// and `rowOrder` takes the rows as graph.gather orders them to those of StableHLO, unit dimensions of uncollapsed windows aside.
struct RowPlan {
  SmallVector<int64_t> operandOrder;
  SmallVector<int64_t> operandShape; ///< after the order, several indexed dimensions made one
  Value ids;
  int64_t axis, batchDims;
  SmallVector<int64_t> rowOrder;
};

class RowPlanner {
public:
  RowPlanner(Indexing indexing, RankedTensorType operand, Value indices, Translation &t)
      : x(std::move(indexing)), operand(operand), indices(indices), t(t), loc(x.op->getLoc()) {}

  FailureOr<RowPlan> plan() {
    if (failed(classify()))
      return failure();
    promoteIotas();
    RowPlan plan;
    plan.batchDims = batch.size();
    orderOperand(plan);
    orderIds(plan);
    orderRows(plan);
    return plan;
  }

private:
  /// Splits the operand's dimensions into batch, indexed and whole ones.
  LogicalResult classify() {
    for (auto [o, i] : llvm::zip(x.operandBatchDims, x.indexBatchDims))
      batch.push_back({o, i - (i > x.indexVectorDim)});
    for (auto [component, dim] : llvm::enumerate(x.indexMap)) {
      if (x.sliceSizes[dim] == operand.getDimSize(dim) && operand.getDimSize(dim) != 1)
        continue; // the window covers the dimension: any start is clamped to 0
      if (x.sliceSizes[dim] != 1)
        return x.op->emitOpError() << "takes windows of " << x.sliceSizes[dim] << " of dimension " << dim << " of size "
                                   << operand.getDimSize(dim) << "; expected single elements or the whole dimension";
      indexed.push_back({dim, component_(component)});
    }
    for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
      if (isBatch(dim) || isIndexed(dim))
        continue;
      if (x.sliceSizes[dim] != operand.getDimSize(dim))
        return x.op->emitOpError() << "takes " << x.sliceSizes[dim] << " of the " << operand.getDimSize(dim) << " elements of dimension " << dim
                               << ", which no index selects; expected all of them";
      whole.push_back(dim);
    }
    if (indexed.empty())
      return x.op->emitOpError() << "has no index that selects; use the whole tensor instead";
    return success();
  }

  /// The indices of one component, without the dimension of the index vector.
  Value component_(int64_t i) {
    auto type = graph::tensorType(indices);
    if (x.indexVectorDim == type.getRank())
      return indices;
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + x.indexVectorDim);
    if (auto concatOp = indices.getDefiningOp<graph::ConcatOp>();
        concatOp && int64_t(concatOp.getDim()) == x.indexVectorDim && concatOp->getNumOperands() == x.indexMap.size())
      return reshape(t.builder, loc, concatOp->getOperand(i), shape);
    return reshape(t.builder, loc, sliceDim(t.builder, loc, indices, x.indexVectorDim, i, 1), shape);
  }

  /// x[iota, i]: a dimension indexed by the position along dimension d of the indices is a batch dimension of both.
  void promoteIotas() {
    for (size_t i = 0; i < indexed.size() && indexed.size() > 1;) {
      std::optional<int64_t> along = iotaDim(indexed[i].ids);
      bool taken = along && llvm::any_of(batch, [&](auto &pair) { return pair.second == *along; });
      bool fits = along && !taken && llvm::is_contained(x.collapsedDims, indexed[i].dim) &&
                  graph::tensorType(indexed[i].ids).getDimSize(*along) == operand.getDimSize(indexed[i].dim);
      if (!fits) {
        ++i;
        continue;
      }
      batch.push_back({indexed[i].dim, *along});
      indexed.erase(indexed.begin() + i);
    }
  }

  bool isBatch(int64_t dim) {
    return llvm::any_of(batch, [&](auto &pair) { return pair.first == dim; });
  }
  bool isIndexed(int64_t dim) {
    return llvm::any_of(indexed, [&](const IndexedDim &entry) { return entry.dim == dim; });
  }

  /// One indexed dimension stays at its place among the whole ones; several go together after the batch.
  void orderOperand(RowPlan &plan) {
    for (auto &pair : batch)
      plan.operandOrder.push_back(pair.first);
    SmallVector<int64_t> rest;
    if (indexed.size() == 1) {
      for (int64_t dim = 0; dim < operand.getRank(); ++dim)
        if (!isBatch(dim))
          rest.push_back(dim);
    } else {
      for (const IndexedDim &entry : indexed)
        rest.push_back(entry.dim);
      llvm::append_range(rest, whole);
    }
    int64_t rows = 1;
    for (int64_t dim : plan.operandOrder)
      plan.operandShape.push_back(operand.getDimSize(dim));
    for (const IndexedDim &entry : indexed)
      rows *= operand.getDimSize(entry.dim);
    plan.axis = -1;
    for (int64_t dim : rest) {
      if (!isIndexed(dim)) {
        plan.operandShape.push_back(operand.getDimSize(dim));
      } else if (plan.axis < 0) {
        plan.axis = plan.operandShape.size();
        plan.operandShape.push_back(rows);
      }
    }
    llvm::append_range(plan.operandOrder, rest);
  }

  /// Row numbers: the single component, or the row-major number of clamped components.
  Value rowNumbers() {
    if (indexed.size() == 1)
      return indexed.front().ids;
    int64_t rows = 1;
    for (const IndexedDim &entry : indexed)
      rows *= operand.getDimSize(entry.dim);
    Value total;
    for (const IndexedDim &entry : indexed) {
      Value ids = entry.ids;
      auto type = graph::tensorType(ids);
      if (rows > INT32_MAX && type.getElementTypeBitWidth() < 64)
        ids = t.create<graph::ConvertOp>(loc, type = type.clone(t.builder.getI64Type()), ids);
      int64_t size = operand.getDimSize(entry.dim);
      ids = t.create<graph::MaxOp>(loc, type, ids, splat(t.builder, loc, type, 0));
      ids = t.create<graph::MinOp>(loc, type, ids, splat(t.builder, loc, type, size - 1));
      if (total) {
        total = t.create<graph::MulOp>(loc, type, total, splat(t.builder, loc, type, size));
        ids = t.create<graph::AddOp>(loc, type, total, ids);
      }
      total = ids;
    }
    return total;
  }

  void orderIds(RowPlan &plan) {
    Value ids = rowNumbers();
    SmallVector<int64_t> order;
    for (auto &pair : batch)
      order.push_back(pair.second);
    for (int64_t dim = 0; dim < graph::tensorType(ids).getRank(); ++dim)
      if (!llvm::is_contained(ArrayRef(order).take_front(batch.size()), dim))
        order.push_back(dim);
    idOrder = order;
    plan.ids = transpose(t.builder, loc, ids, order);
  }

  /// Labels of the rows' dimensions, ids dimension i as i and operand dimension d as -1 - d, in both orders.
  void orderRows(RowPlan &plan) {
    SmallVector<int64_t> mine, theirs;
    auto isUncut = [&](int64_t dim) { return !isBatch(dim) && !isIndexed(dim); };
    for (size_t i = 0; i < batch.size(); ++i)
      mine.push_back(idOrder[i]);
    bool pastAxis = false;
    for (int64_t dim : ArrayRef(plan.operandOrder).drop_front(batch.size())) {
      if (isUncut(dim)) {
        mine.push_back(-1 - dim);
      } else if (!std::exchange(pastAxis, true)) {
        for (size_t i = batch.size(); i < idOrder.size(); ++i)
          mine.push_back(idOrder[i]);
      }
    }
    SmallVector<int64_t> windows; // operand dimensions of the rows' window dimensions
    for (int64_t dim = 0; dim < operand.getRank(); ++dim)
      if (!isExplicitBatch(dim) && !llvm::is_contained(x.collapsedDims, dim))
        windows.push_back(dim);
    size_t nextWindow = 0, nextId = 0, rank = x.offsetDims.size() + idOrder.size();
    for (size_t dim = 0; dim < rank; ++dim) {
      if (!llvm::is_contained(x.offsetDims, int64_t(dim)))
        theirs.push_back(nextId++);
      else if (int64_t window = windows[nextWindow++]; isUncut(window))
        theirs.push_back(-1 - window);
    }
    for (int64_t label : theirs)
      plan.rowOrder.push_back(llvm::find(mine, label) - mine.begin());
  }
  bool isExplicitBatch(int64_t dim) { return llvm::is_contained(x.operandBatchDims, dim); }

  Indexing x;
  RankedTensorType operand;
  Value indices;
  Translation &t;
  Location loc;
  SmallVector<std::pair<int64_t, int64_t>> batch; // operand dimension, dimension of the ids
  SmallVector<IndexedDim> indexed;
  SmallVector<int64_t> whole, idOrder;
};

SmallVector<int64_t> permuted(Dims values, Dims order) {
  SmallVector<int64_t> result;
  for (int64_t i : order)
    result.push_back(values[i]);
  return result;
}

LogicalResult convertGather(stablehlo::GatherOp op, Translation &t) {
  auto numbers = op.getDimensionNumbers();
  Value operand = t.get(op.getOperand()), indices = t.get(op.getStartIndices());
  auto list = [](Dims dims) { return SmallVector<int64_t>(dims); };
  Indexing indexing{op,
                    numbers.getIndexVectorDim(),
                    list(numbers.getOffsetDims()),
                    list(numbers.getCollapsedSliceDims()),
                    list(numbers.getOperandBatchingDims()),
                    list(numbers.getStartIndicesBatchingDims()),
                    list(numbers.getStartIndexMap()),
                    list(op.getSliceSizes())};
  auto type = graph::tensorType(operand);
  if (failed(checkNumbers(indexing, type, graph::tensorType(indices), cast<ShapedType>(op.getResult().getType()))))
    return failure();
  FailureOr<RowPlan> plan = RowPlanner(indexing, type, indices, t).plan();
  if (failed(plan))
    return failure();
  auto resultShape = cast<RankedTensorType>(op.getResult().getType()).getShape();
  Value rows = reshape(t.builder, op.getLoc(), transpose(t.builder, op.getLoc(), operand, plan->operandOrder), plan->operandShape);
  SmallVector<int64_t> shape(Dims(plan->operandShape).take_front(plan->axis));
  llvm::append_range(shape, graph::tensorType(plan->ids).getShape().drop_front(plan->batchDims));
  llvm::append_range(shape, Dims(plan->operandShape).drop_front(plan->axis + 1));
  rows = t.create<graph::GatherOp>(op.getLoc(), type.clone(shape), rows, plan->ids, plan->axis, plan->batchDims);
  rows = transpose(t.builder, op.getLoc(), rows, plan->rowOrder);
  t.bind(op.getResult(), reshape(t.builder, op.getLoc(), rows, resultShape));
  return success();
}

/// `updates` where the row exists, else 0: scatter leaves out rows outside the operand, scatter_add would clamp them.
Value dropOutside(Translation &t, Location loc, Value updates, const RowPlan &plan) {
  auto idsType = graph::tensorType(plan.ids);
  auto boolType = idsType.clone(t.builder.getI1Type());
  Value low = splat(t.builder, loc, idsType, 0), high = splat(t.builder, loc, idsType, plan.operandShape[plan.axis]);
  Value above = t.create<graph::CompareOp>(loc, boolType, graph::ComparePredicate::Ge, plan.ids, low);
  Value below = t.create<graph::CompareOp>(loc, boolType, graph::ComparePredicate::Lt, plan.ids, high);
  Value inside = t.create<graph::AndOp>(loc, boolType, above, below);
  auto type = graph::tensorType(updates);
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < idsType.getRank(); ++i)
    dims.push_back(i < plan.batchDims ? i : i + plan.axis - plan.batchDims);
  inside = broadcast(t.builder, loc, inside, type.getShape(), dims);
  return t.create<graph::SelectOp>(loc, type, inside, updates, splat(t.builder, loc, type, 0));
}

/// Whether the region keeps the update and drops what was there.
bool overwrites(Region &body) {
  Block &block = body.front();
  Operation *terminator = block.getTerminator();
  return block.getNumArguments() == 2 && terminator->getNumOperands() == 1 && terminator->getOperand(0) == block.getArgument(1);
}

LogicalResult convertScatter(stablehlo::ScatterOp op, Translation &t) {
  if (op.getInputs().size() != 1)
    return op.emitOpError() << "scatters into " << op.getInputs().size() << " tensors at once; expected one";
  bool isAdd = isa_and_nonnull<stablehlo::AddOp>(singleCombiner(op.getBody()));
  if (!isAdd && !overwrites(op.getBody()))
    return op.emitOpError() << "combines by something else than an add or the update; write x.at[i].add(y) or x.at[i].set(y)";
  if (!isAdd && !op.getUniqueIndices())
    op.emitRemark() << "the rows that are written are taken to be different from each other";
  auto numbers = op.getScatterDimensionNumbers();
  Value input = t.get(op.getInputs().front()), updates = t.get(op.getUpdates().front());
  auto type = graph::tensorType(input);
  auto list = [](Dims dims) { return SmallVector<int64_t>(dims); };
  Indexing indexing{op,
                    numbers.getIndexVectorDim(),
                    list(numbers.getUpdateWindowDims()),
                    list(numbers.getInsertedWindowDims()),
                    list(numbers.getInputBatchingDims()),
                    list(numbers.getScatterIndicesBatchingDims()),
                    list(numbers.getScatterDimsToOperandDims()),
                    /*sliceSizes=*/{}};
  Value indices = t.get(op.getScatterIndices());
  if (failed(checkNumbers(indexing, type, graph::tensorType(indices), graph::tensorType(updates))))
    return failure();
  indexing.sliceSizes.assign(type.getRank(), 1);
  size_t window = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(indexing.collapsedDims, dim) && !llvm::is_contained(indexing.operandBatchDims, dim))
      indexing.sliceSizes[dim] = graph::tensorType(updates).getDimSize(indexing.offsetDims[window++]);
  FailureOr<RowPlan> plan = RowPlanner(indexing, type, indices, t).plan();
  if (failed(plan))
    return failure();
  Location loc = op.getLoc();
  SmallVector<int64_t> rowShape(Dims(plan->operandShape).take_front(plan->axis));
  llvm::append_range(rowShape, graph::tensorType(plan->ids).getShape().drop_front(plan->batchDims));
  llvm::append_range(rowShape, Dims(plan->operandShape).drop_front(plan->axis + 1));
  auto scatter = [&](Value rows) -> Value {
    rows = reshape(t.builder, loc, rows, permuted(rowShape, plan->rowOrder));
    rows = transpose(t.builder, loc, rows, invertPermutationVector(plan->rowOrder));
    rows = dropOutside(t, loc, rows, *plan);
    Value sum = t.create<graph::ScatterAddOp>(loc, graph::tensorType(rows).clone(plan->operandShape), rows, plan->ids, plan->axis,
                                              plan->batchDims);
    sum = reshape(t.builder, loc, sum, permuted(type.getShape(), plan->operandOrder));
    return transpose(t.builder, loc, sum, invertPermutationVector(plan->operandOrder));
  };
  Value sum = scatter(updates);
  if (isAdd) {
    t.bind(op.getResult(0), t.create<graph::AddOp>(loc, type, input, sum));
    return success();
  }
  auto f32 = t.builder.getF32Type();
  Value count = scatter(splat(t.builder, loc, graph::tensorType(updates).clone(f32), 1));
  Value written = t.create<graph::CompareOp>(loc, type.clone(t.builder.getI1Type()), graph::ComparePredicate::Gt, count,
                                             splat(t.builder, loc, type.clone(f32), 0));
  t.bind(op.getResult(0), t.create<graph::SelectOp>(loc, type, written, sum, input));
  return success();
}

} // namespace

void p3d::import::addIndexingConverters(ConverterTable &table) {
  table.add<stablehlo::GatherOp>(convertGather);
  table.add<stablehlo::ScatterOp>(convertScatter);
}
