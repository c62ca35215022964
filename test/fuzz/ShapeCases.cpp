#include "OpCases.h"
#include <numeric>

using namespace mlir;
using namespace p3d;
using namespace p3d::fuzz;

namespace {
int64_t count(ArrayRef<int64_t> shape) { return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>()); }

Item *constant(ProgramBuilder &b) {
  SmallVector<int64_t> shape;
  for (int64_t i = 0, rank = b.random.between(1, 3); i < rank; ++i)
    shape.push_back(b.size());
  return b.random.chance(0.5) ? b.denseConstant(shape, b.f32(), -1.5, 1.5) : b.splat(shape, b.f32(), b.random.real(-1.5, 1.5));
}

/// Positions as numbers, of the shape of another value.
Item *iota(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  Type element = b.random.chance(0.5) ? b.f32() : b.i32();
  Item *index = b.create<graph::IotaOp>(TypeRange(b.type(x->shape(), element)), x->batch, 1, b.builder.getI64IntegerAttr(b.random.below(x->rank())));
  return index && index->isFloat() ? b.bounded(index, 2) : index;
}

/// New dimensions anywhere, and dimensions of size 1 that grow.
Item *broadcast(ProgramBuilder &b) {
  Item *x = b.anyFloat();
  SmallVector<int64_t> shape, dims;
  SmallVector<bool> batch;
  bool addsBatch = b.rules.isCut && !x->hasBatch() && b.random.chance(0.4);
  if (addsBatch) {
    shape.push_back(b.rules.size);
    batch.push_back(true);
  }
  for (int64_t d = 0; d <= x->rank(); ++d) {
    if (b.random.chance(0.3)) {
      shape.push_back(b.size());
      batch.push_back(false);
    }
    if (d == x->rank())
      break;
    dims.push_back(shape.size());
    shape.push_back(x->shape()[d] == 1 && b.random.chance(0.5) ? b.size() : x->shape()[d]);
    batch.push_back(x->batch[d]);
  }
  return b.broadcast(x, shape, dims, batch);
}

/// Neighbours merged, dimensions split, ones added and dropped; now and then any shape of as many elements.
Item *reshape(ProgramBuilder &b) {
  Item *x = b.anyFloat();
  SmallVector<int64_t> shape(x->shape());
  for (int64_t step = 0, steps = b.random.between(1, 3); step < steps; ++step) {
    int64_t d = shape.empty() ? 0 : b.random.below(shape.size());
    switch (b.random.below(4)) {
    case 0:
      if (d + 1 < int64_t(shape.size())) {
        shape[d] *= shape[d + 1];
        shape.erase(shape.begin() + d + 1);
      }
      break;
    case 1:
      if (!shape.empty())
        for (int64_t factor : {2, 3, 4, 5})
          if (shape[d] % factor == 0 && b.random.chance(0.6)) {
            shape[d] /= factor;
            shape.insert(shape.begin() + d + b.random.below(2), factor);
            break;
          }
      break;
    case 2:
      shape.insert(shape.begin() + d, 1);
      break;
    case 3:
      llvm::erase(shape, 1);
      break;
    }
  }
  return b.make<graph::ReshapeOp>(b.type(shape, x->element()), x->value);
}

Item *transpose(ProgramBuilder &b) {
  Item *x = b.anyFloat(2);
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, x->rank()));
  b.random.shuffle(permutation);
  auto shape = llvm::map_to_vector(permutation, [&](int64_t d) { return x->shape()[d]; });
  return b.make<graph::TransposeOp>(b.type(shape, x->element()), x->value, permutation);
}

/// A dimension that may be worked along: not the batch where that is cut.
int64_t chooseDim(ProgramBuilder &b, Item *x) {
  int64_t d = b.random.below(x->rank());
  return b.rules.isCut && x->batch[d] && x->rank() > 1 ? (d + 1) % x->rank() : d;
}

Item *slice(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  SmallVector<int64_t> starts(x->rank(), 0), limits(x->shape()), strides(x->rank(), 1), shape;
  int64_t d = chooseDim(b, x);
  starts[d] = b.random.below(limits[d]);
  limits[d] = b.random.between(starts[d] + 1, limits[d]);
  strides[d] = b.random.pick({1, 1, 2, 3});
  for (auto [start, limit, stride] : llvm::zip(starts, limits, strides))
    shape.push_back(llvm::divideCeil(limit - start, stride));
  return b.make<graph::SliceOp>(b.type(shape, x->element()), x->value, starts, limits, strides);
}

Item *pad(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  SmallVector<int64_t> low(x->rank(), 0), high(low), interior(low), shape(x->shape());
  int64_t d = chooseDim(b, x);
  low[d] = b.random.between(-1, 2), high[d] = b.random.between(-1, 2), interior[d] = b.random.pick({0, 0, 1, 2});
  shape[d] += low[d] + high[d] + (shape[d] - 1) * interior[d];
  if (shape[d] < 1)
    return nullptr;
  Item *value = b.random.chance(0.6) ? b.splat({}, x->element(), b.random.pick({0, 0, 1})) : b.parameter({}, x->element());
  return b.make<graph::PadOp>(b.type(shape, x->element()), x->value, value->value, low, high, interior);
}

Item *concat(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  int64_t d = chooseDim(b, x);
  SmallVector<Value> parts{x->value};
  SmallVector<int64_t> shape(x->shape());
  for (int64_t i = 0, more = b.random.between(1, 2); i < more; ++i) {
    auto fits = [&](const Item &item) {
      if (item.element() != x->element() || item.rank() != x->rank() || item.batch != x->batch)
        return false;
      for (int64_t other = 0; other < x->rank(); ++other)
        if (other != d && item.shape()[other] != x->shape()[other])
          return false;
      return true;
    };
    Item *next = b.random.chance(0.7) ? b.pick(fits) : b.like(x);
    if (!next)
      return nullptr;
    parts.push_back(next->value);
    shape[d] += next->shape()[d];
  }
  b.random.shuffle(parts);
  return b.make<graph::ConcatOp>(b.type(shape, x->element()), parts, b.builder.getI64IntegerAttr(d));
}

Item *reverse(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  SmallVector<int64_t> dims{chooseDim(b, x)};
  return b.make<graph::ReverseOp>(x->type(), x->value, b.builder.getDenseI64ArrayAttr(dims));
}

Item *gather(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  int64_t axis = chooseDim(b, x), batchDims = b.random.below(axis + 1);
  // Rows of each element of the batch are chosen for themselves.
  if (x->hasBatch() && b.rules.isCut && axis > 0 && x->batch.front())
    batchDims = std::max<int64_t>(batchDims, 1);
  SmallVector<int64_t> idShape(x->shape().take_front(batchDims)), shape(x->shape().take_front(axis));
  SmallVector<bool> idBatch(ArrayRef<bool>(x->batch).take_front(batchDims));
  bool startsWithBatch = batchDims == 0 && !x->hasBatch() && b.rules.isCut && b.random.chance(0.5);
  for (int64_t i = 0, extra = b.random.between(startsWithBatch ? 1 : 0, 2); i < extra; ++i) {
    idShape.push_back(startsWithBatch && i == 0 ? b.rules.size : b.size());
    idBatch.push_back(startsWithBatch && i == 0);
  }
  Item *ids = b.ids(idShape, idBatch, x->shape()[axis]);
  if (!ids)
    return nullptr;
  llvm::append_range(shape, ArrayRef<int64_t>(idShape).drop_front(batchDims));
  llvm::append_range(shape, x->shape().drop_front(axis + 1));
  return b.make<graph::GatherOp>(b.type(shape, x->element()), x->value, ids->value, b.builder.getI64IntegerAttr(axis), b.builder.getI64IntegerAttr(batchDims));
}

Item *scatterAdd(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  int64_t axis = chooseDim(b, x), batchDims = b.random.below(axis + 1);
  if (x->hasBatch() && b.rules.isCut && axis > 0 && x->batch.front())
    batchDims = std::max<int64_t>(batchDims, 1);
  int64_t idDims = b.random.between(1, std::min<int64_t>(2, x->rank() - axis));
  SmallVector<int64_t> idShape(x->shape().take_front(batchDims)), shape(x->shape().take_front(axis));
  SmallVector<bool> idBatch(ArrayRef<bool>(x->batch).take_front(batchDims));
  llvm::append_range(idShape, x->shape().slice(axis, idDims));
  llvm::append_range(idBatch, ArrayRef<bool>(x->batch).slice(axis, idDims));
  int64_t rows = b.size();
  Item *ids = b.ids(idShape, idBatch, rows);
  if (!ids)
    return nullptr;
  shape.push_back(rows);
  llvm::append_range(shape, x->shape().drop_front(axis + idDims));
  return b.make<graph::ScatterAddOp>(b.type(shape, x->element()), x->value, ids->value, b.builder.getI64IntegerAttr(axis), b.builder.getI64IntegerAttr(batchDims));
}

Item *embedding(ProgramBuilder &b) {
  Item *table = b.random.chance(0.3) ? b.pick([](const Item &item) { return item.isFloat() && item.rank() == 2 && !item.hasBatch(); }) : nullptr;
  if (!table)
    table = b.parameter({b.random.between(3, 12), b.size()}, b.f32());
  SmallVector<int64_t> shape{b.rules.size, b.size()};
  SmallVector<bool> batch{true, false};
  Item *ids = b.ids(shape, batch, table->shape()[0]);
  if (!ids)
    return nullptr;
  shape.push_back(table->shape()[1]);
  return b.make<graph::EmbeddingOp>(b.type(shape, table->element()), table->value, ids->value);
}

/// One dimension cut, or a whole value; how the batch lies is said when the program is complete.
Item *constrain(ProgramBuilder &b) {
  Item *x = b.anyFloat(1);
  int64_t cut = b.random.chance(0.8) ? chooseDim(b, x) : -1;
  SmallVector<bool> batch(x->rank());
  return cut >= 0 && x->shape()[cut] == 1 ? nullptr : b.make<graph::ConstrainOp>(x->type(), x->value, userSharding(b.builder.getContext(), batch, cut, true));
}

Item *sorted(ProgramBuilder &b, bool isTopK) {
  Item *x = b.anyFloat(1);
  SmallVector<int64_t> shape(x->shape());
  if (isTopK)
    shape.back() = b.random.between(1, shape.back());
  Type values = b.type(shape, x->element()), indices = b.type(shape, b.i32());
  if (isTopK)
    return b.create<graph::TopKOp>(TypeRange({values, indices}), {}, 2, x->value, b.builder.getI64IntegerAttr(shape.back()));
  return b.create<graph::SortOp>(TypeRange({values, indices}), {}, 2, x->value, b.random.chance(0.5));
}
} // namespace

sdy::TensorShardingAttr p3d::fuzz::userSharding(MLIRContext *context, ArrayRef<bool> batch, int64_t cut, bool restIsOpen) {
  auto dims = llvm::map_to_vector(llvm::enumerate(batch), [&](auto entry) {
    SmallVector<sdy::AxisRefAttr> axes;
    bool isCut = int64_t(entry.index()) == cut;
    if (isCut || entry.value())
      axes.push_back(sdy::AxisRefAttr::get(context, isCut ? "model" : "data", 0, 0));
    return sdy::DimensionShardingAttr::get(context, axes, /*is_closed=*/!axes.empty() || !restIsOpen, std::nullopt);
  });
  return sdy::TensorShardingAttr::get(context, SymbolRefAttr::get(context, "mesh"), dims, {}, {}, "");
}

void p3d::fuzz::addShapeCases(std::vector<OpCase> &cases) {
  cases.push_back({"constant", constant, 1});
  cases.push_back({"iota", iota, 1});
  cases.push_back({"broadcast", broadcast, 4});
  cases.push_back({"reshape", reshape, 6});
  cases.push_back({"transpose", transpose, 4});
  cases.push_back({"slice", slice, 3});
  cases.push_back({"pad", pad, 2});
  cases.push_back({"concat", concat, 3});
  cases.push_back({"reverse", reverse, 1});
  cases.push_back({"constrain", constrain, 1});
  cases.push_back({"gather", gather, 3});
  cases.push_back({"scatter_add", scatterAdd, 3});
  cases.push_back({"embedding", embedding, 2});
  cases.push_back({"top_k", [](ProgramBuilder &b) { return sorted(b, true); }, 1});
  cases.push_back({"sort", [](ProgramBuilder &b) { return sorted(b, false); }, 1});
}
