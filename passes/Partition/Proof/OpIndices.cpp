#include "passes/Partition/Proof/OpIndices.h"
#include "dialects/Graph/EinsumSpec.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::partition;
using namespace p3d::partition::proof;
using graph::tensorType;

namespace {
using Dims = SmallVector<int, 4>;
using OperandTypes = ArrayRef<const ValueType *>;

constexpr StringLiteral kRow = "each element of a row depends on all of it";
constexpr StringLiteral kMoved = "its elements change places";

/// One index for each of `count` dimensions.
Dims fresh(OpIndices &op, int64_t count) {
  Dims dims;
  for (int64_t d = 0; d < count; ++d)
    dims.push_back(op.add());
  return dims;
}

int64_t rankOf(Value value) { return tensorType(value).getRank(); }

OpIndices elementwise(Operation *op) {
  OpIndices all;
  Dims dims = fresh(all, rankOf(op->getResult(0)));
  all.operands.assign(op->getNumOperands(), dims);
  all.results.assign(op->getNumResults(), dims);
  return all;
}

/// All of the result's dimensions are made by the op.
OpIndices maker(Operation *op) {
  OpIndices all;
  all.results = {fresh(all, rankOf(op->getResult(0)))};
  return all;
}

OpIndices constant(graph::ConstantOp op) {
  OpIndices all = maker(op);
  if (!cast<ElementsAttr>(op.getValue()).isSplat())
    for (Index &index : all.indices)
      index.wholeBecause = "its elements are not all the same";
  return all;
}

OpIndices iota(graph::IotaOp op) {
  OpIndices all = maker(op);
  all.indices[all.results[0][op.getDim()]].positional = true;
  return all;
}

/// A dimension of whole size 1 is repeated, unless the op says that it makes none.
OpIndices broadcast(graph::BroadcastOp op, OperandTypes operands) {
  OpIndices all = maker(op);
  Dims operand;
  for (auto [d, dim] : llvm::enumerate(op.getDims()))
    operand.push_back(operands[0]->dims[d].full == 1 ? kUnit : all.results[0][dim]);
  all.operands = {operand};
  return all;
}

OpIndices transpose(graph::TransposeOp op) {
  OpIndices all;
  Dims operand = fresh(all, rankOf(op.getOperand())), result;
  for (int64_t dim : op.getPermutation())
    result.push_back(operand[dim]);
  all.operands = {operand};
  all.results = {result};
  return all;
}

OpIndices reduce(graph::ReduceOp op) {
  OpIndices all;
  Dims operand = fresh(all, rankOf(op.getOperand())), result;
  for (int dim : operand)
    if (llvm::is_contained(op.getDims(), dim))
      all.indices[dim].reduce = dist::ReduceKind(uint32_t(op.getKind()));
    else
      result.push_back(dim);
  all.operands = {operand};
  all.results = {result};
  return all;
}

OpIndices einsum(graph::EinsumOp op) {
  OpIndices all;
  graph::EinsumSpec spec = *graph::EinsumSpec::parse(op.getSpec());
  std::string letters = spec.letters();
  fresh(all, letters.size());
  auto dims = [&](const std::string &word) {
    return Dims(llvm::map_range(word, [&](char letter) { return int(letters.find(letter)); }));
  };
  all.operands = {dims(spec.lhs), dims(spec.rhs)};
  all.results = {dims(spec.result)};
  return all;
}

/// Ops that leave the dimensions for which `keeps` holds as they are and need the others whole.
OpIndices keeper(Operation *op, llvm::function_ref<bool(unsigned)> keeps) {
  OpIndices all;
  Dims result;
  int64_t rank = rankOf(op->getResult(0));
  all.operands.resize(op->getNumOperands());
  for (int64_t d = 0; d < rank; ++d) {
    result.push_back(all.add(keeps(d) ? StringLiteral("") : kMoved));
    for (auto [operand, dims] : llvm::zip(op->getOperands(), all.operands))
      if (rankOf(operand) == rank)
        dims.push_back(keeps(d) ? result.back() : all.add(kMoved));
  }
  all.results.assign(op->getNumResults(), result);
  return all;
}

OpIndices slice(graph::SliceOp op) {
  return keeper(op, [&](unsigned d) {
    return op.getStarts()[d] == 0 && op.getStrides()[d] == 1 &&
           op.getLimits()[d] == tensorType(op.getOperand()).getDimSize(d);
  });
}

OpIndices pad(graph::PadOp op) {
  return keeper(op, [&](unsigned d) { return !op.getLow()[d] && !op.getHigh()[d] && !op.getInterior()[d]; });
}

/// rows[batch, outer, ids, inner] = table[batch, outer, ids[batch, ids], inner]; a shard of the table's rows gives 0
/// for ids outside of it.
struct GatherIndices {
  OpIndices all;
  Dims table, ids, rows;

  GatherIndices(int64_t tableRank, int64_t idRank, int64_t axis, int64_t batchDims) {
    table = fresh(all, tableRank);
    for (int64_t d = 0; d < idRank; ++d)
      ids.push_back(d < batchDims ? table[d] : all.add());
    rows.append(table.begin(), table.begin() + axis);
    rows.append(ids.begin() + batchDims, ids.end());
    rows.append(table.begin() + axis + 1, table.end());
    all.indices[table[axis]].positional = true;
  }
  OpIndices gather() {
    all.operands = {table, ids};
    all.results = {rows};
    return all;
  }
  OpIndices scatter() {
    all.operands = {rows, ids};
    all.results = {table};
    return all;
  }
};

/// Ops on rows, which are the last dimension: 'x' has all dimensions, 'r' all but the last, 'l' the last.
OpIndices rows(Value full, StringRef operands, StringRef results) {
  OpIndices all;
  Dims dims = fresh(all, rankOf(full));
  all.indices.back().wholeBecause = kRow;
  auto spell = [&](char kind) {
    return kind == 'x' ? dims : kind == 'l' ? Dims{dims.back()} : Dims(dims.begin(), dims.end() - 1);
  };
  for (char kind : operands)
    all.operands.push_back(spell(kind));
  for (char kind : results)
    all.results.push_back(spell(kind));
  return all;
}

/// The pieces of the cross entropy find their logits by position.
OpIndices crossEntropy(Value logits, StringRef operands, StringRef results,
                       dist::ReduceKind kind = dist::ReduceKind::Sum) {
  OpIndices all = rows(logits, operands, results);
  all.indices.back() = {"", kind, true};
  return all;
}

OpIndices rope(graph::RopeOp op) {
  OpIndices all;
  Dims x = fresh(all, 4), table{x[1], x[3]};
  all.indices[x[3]].wholeBecause = "its halves are combined";
  if (rankOf(op.getCos()) == 3)
    table.insert(table.begin(), x[0]);
  all.operands = {x, table, table};
  all.results = {x};
  return all;
}

/// Heads of the query are a product of heads of the key and queries for each of those.
struct AttentionIndices {
  OpIndices all;
  Dims query, key, lse;

  AttentionIndices(const ValueType &q, const ValueType &k) {
    int batch = all.add(), s = all.add(kRow), t = all.add(kRow), depth = all.add("scores are sums over it"),
        heads = all.add(), keyHeads = heads;
    if (k.dims[2].full == 1 && q.dims[2].full != 1)
      keyHeads = kUnit;
    else if (k.dims[2].full != q.dims[2].full) {
      keyHeads = all.add();
      all.productAndMajor = {heads, keyHeads};
    }
    query = {batch, s, heads, depth};
    key = {batch, t, keyHeads, depth};
    lse = {batch, heads, s};
  }
  Dims mask(const ValueType &type) {
    Dims dims{query[0], query[2], query[1], key[1]};
    for (auto [dim, found] : llvm::zip(dims, type.dims))
      if (found.full == 1)
        dim = kUnit;
    return dims;
  }
};

OpIndices attention(graph::AttentionOp op, OperandTypes operands) {
  AttentionIndices at(*operands[0], *operands[1]);
  at.all.operands = {at.query, at.key, at.key};
  if (op.getMask())
    at.all.operands.push_back(at.mask(*operands[3]));
  at.all.results = {at.query, at.lse};
  return at.all;
}

OpIndices attentionGrad(graph::AttentionGradOp op, OperandTypes operands) {
  AttentionIndices at(*operands[1], *operands[2]);
  at.all.operands = {at.query, at.query, at.key, at.key, at.query, at.lse};
  if (op.getMask())
    at.all.operands.push_back(at.mask(*operands[6]));
  at.all.results = {at.query, at.key, at.key};
  return at.all;
}
} // namespace

std::optional<OpIndices> proof::indicesOf(Operation *op, OperandTypes operands) {
  using namespace graph;
  using Found = std::optional<OpIndices>;
  auto notLast = [&](unsigned d) { return int64_t(d) + 1 < rankOf(op->getOperand(0)); };
  return TypeSwitch<Operation *, Found>(op)
      .Case([](ConstantOp op) { return constant(op); })
      .Case([](IotaOp op) { return iota(op); })
      .Case([&](BroadcastOp op) { return broadcast(op, operands); })
      .Case([](TransposeOp op) { return transpose(op); })
      .Case([](ReduceOp op) { return reduce(op); })
      .Case([](EinsumOp op) { return einsum(op); })
      .Case([](SliceOp op) { return slice(op); })
      .Case([](PadOp op) { return pad(op); })
      .Case([](ConcatOp op) { return keeper(op, [&](unsigned d) { return d != op.getDim(); }); })
      .Case([](ReverseOp op) { return keeper(op, [&](unsigned d) { return !llvm::is_contained(op.getDims(), d); }); })
      .Case([](CumulativeOp op) { return keeper(op, [&](unsigned d) { return d != op.getDim(); }); })
      .Case<TopKOp, SortOp>([&](Operation *op) { return keeper(op, notLast); })
      .Case([](GatherOp op) {
        return GatherIndices(rankOf(op.getOperand()), rankOf(op.getIds()), op.getAxis(), op.getBatchDims()).gather();
      })
      .Case([](ScatterAddOp op) {
        return GatherIndices(rankOf(op.getResult()), rankOf(op.getIds()), op.getAxis(), op.getBatchDims()).scatter();
      })
      .Case([](EmbeddingOp op) { return GatherIndices(2, rankOf(op.getIds()), 0, 0).gather(); })
      .Case([](EmbeddingGradOp op) { return GatherIndices(2, rankOf(op.getIds()), 0, 0).scatter(); })
      .Case([](LayerNormOp op) { return rows(op.getOperand(), "xll", "xrr"); })
      .Case([](LayerNormGradOp op) { return rows(op.getOperand(), "xxlrr", "xll"); })
      .Case([](RmsNormOp op) { return rows(op.getOperand(), "xl", "xr"); })
      .Case([](RmsNormGradOp op) { return rows(op.getOperand(), "xxlr", "xl"); })
      .Case([](SoftmaxOp op) { return rows(op.getOperand(), "x", "x"); })
      .Case([](SoftmaxGradOp op) { return rows(op.getLhs(), "xx", "x"); })
      .Case([](SoftmaxCrossEntropyOp op) { return rows(op.getLogits(), "xr", "rrr"); })
      .Case([](SoftmaxCrossEntropyGradOp op) { return crossEntropy(op.getLogits(), "rxrrr", "x"); })
      .Case([](CrossEntropyMaxOp op) { return crossEntropy(op.getLogits(), "x", "r", dist::ReduceKind::Max); })
      .Case([](CrossEntropySumOp op) { return crossEntropy(op.getLogits(), "xrr", "rr"); })
      .Case([](RopeOp op) { return rope(op); })
      .Case([&](AttentionOp op) { return attention(op, operands); })
      .Case([&](AttentionGradOp op) { return attentionGrad(op, operands); })
      .Default(
          [](Operation *op) { return op->hasTrait<graph::Elementwise>() ? Found(elementwise(op)) : std::nullopt; });
}

double proof::neutralPadding(Operation *op) {
  auto reduce = dyn_cast<graph::ReduceOp>(op);
  if (!reduce)
    return 0;
  switch (reduce.getKind()) {
  case graph::ReduceKind::Sum:
  case graph::ReduceKind::Or:
    return 0;
  case graph::ReduceKind::Prod:
  case graph::ReduceKind::And:
    return 1;
  case graph::ReduceKind::Max:
    return -std::numeric_limits<double>::infinity();
  case graph::ReduceKind::Min:
    return std::numeric_limits<double>::infinity();
  }
  llvm_unreachable("a reduction");
}

std::optional<double> proof::resultPadding(Operation *op, const OpIndices &indices, int index, OperandTypes operands,
                                           Value result) {
  using namespace graph;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (value && value.isSplat() && isa<FloatType>(value.getElementType()))
      return value.getSplatValue<APFloat>().convertToDouble();
    return std::nullopt;
  }
  SmallVector<std::optional<double>> paddings; // of the operands that have the index
  for (auto [type, dims] : llvm::zip(operands, indices.operands))
    for (auto [dim, found] : llvm::zip(type->dims, dims))
      if (found == index)
        paddings.push_back(dim.padding);
  if (paddings.empty() || !llvm::all_of(paddings, [](auto padding) { return padding.has_value(); }))
    return std::nullopt;
  bool isMovement = isa<BroadcastOp, TransposeOp, SliceOp, ReverseOp, ConvertOp, StopGradientOp, ConcatOp>(op);
  if (isMovement && llvm::all_equal(paddings))
    return paddings.front();
  // Anything real times zero is zero, and so are sums of that.
  if (isa<EinsumOp, MulOp>(op) && llvm::is_contained(paddings, 0.0) &&
      llvm::all_of(paddings, [](auto padding) { return std::isfinite(*padding); }))
    return 0;
  auto reduce = dyn_cast<ReduceOp>(op);
  bool keepsZero =
      isa<NegOp, AbsOp, SignOp, SqrtOp, TanhOp, SinOp, ErfOp, Expm1Op, Log1pOp, AddOp, SubOp, MaxOp, MinOp, SelectOp,
          GeluOp, SiluOp, SwigluOp, GeluGradOp, SiluGradOp, SwigluGradOp, RopeOp, GatherOp, CumulativeOp>(op) ||
      (reduce && reduce.getKind() != ReduceKind::And);
  if (keepsZero && llvm::all_of(paddings, [](auto padding) { return *padding == 0; }))
    return 0;
  return std::nullopt;
}
