#include "dialects/Graph/FactorRules.h"
#include "dialects/Graph/EinsumSpec.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d::graph;

namespace {

/// Builds a rule tensor by tensor.
class RuleBuilder {
public:
  FactorRule rule;

  /// A factor for a dimension of `size`; none for size 1.
  DimFactors dim(int64_t size, bool cuttable = true) {
    if (size == 1)
      return {};
    int factor = rule.addFactor(size);
    rule.factors[factor].cuttable = cuttable;
    return {factor};
  }
  TensorFactors fresh(ShapedType type) {
    TensorFactors dims;
    for (int64_t size : type.getShape())
      dims.push_back(dim(size));
    return dims;
  }
  void keepWhole(const DimFactors &dim) {
    for (int factor : dim)
      rule.factors[factor].cuttable = false;
  }
  void reduce(const DimFactors &dim, ReduceKind kind) {
    for (int factor : dim)
      rule.factors[factor].reduce = kind;
  }
  void positional(const DimFactors &dim) {
    for (int factor : dim)
      rule.factors[factor].positional = true;
  }
};

ShapedType shaped(Value value) { return cast<ShapedType>(value.getType()); }

TensorFactors dropBack(TensorFactors dims) {
  dims.pop_back();
  return dims;
}

FactorRule elementwiseRule(Operation *op) {
  RuleBuilder b;
  TensorFactors dims = b.fresh(shaped(op->getResult(0)));
  b.rule.operands.assign(op->getNumOperands(), dims);
  b.rule.results.assign(op->getNumResults(), dims);
  return b.rule;
}

FactorRule broadcastRule(BroadcastOp op) {
  RuleBuilder b;
  TensorFactors result = b.fresh(op.getType()), operand;
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    operand.push_back(shaped(op.getOperand()).getDimSize(i) == 1 ? DimFactors{} : result[dim]);
  b.rule.operands = {operand};
  b.rule.results = {result};
  return b.rule;
}

/// A piece of a reshape: `size` positions of operand dimension i that are also positions of result dimension j.
struct ReshapePiece {
  size_t i, j;
  int64_t size;
};

/// Pieces of the group from -> to of equal products, major first; empty when the dimensions do not nest ([6, 4] -> [4, 6]).
SmallVector<ReshapePiece> nestDimensions(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<ReshapePiece> pieces;
  size_t i = 0, j = 0;
  int64_t left = from.empty() ? 1 : from[0], right = to.empty() ? 1 : to[0];
  while (i < from.size() && j < to.size()) {
    if (left == 1) {
      left = ++i < from.size() ? from[i] : 1;
    } else if (right == 1) {
      right = ++j < to.size() ? to[j] : 1;
    } else {
      int64_t size = std::min(left, right);
      if (left % size || right % size)
        return {};
      pieces.push_back({i, j, size});
      left /= size;
      right /= size;
    }
  }
  return pieces;
}

/// [6, 4] -> [2, 12] has the factors 2, 3, 4: dimensions are matched group by group of equal products.
FactorRule reshapeRule(ReshapeOp op) {
  RuleBuilder b;
  auto from = shaped(op.getOperand()).getShape(), to = op.getType().getShape();
  TensorFactors operand(from.size()), result(to.size());
  for (size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    size_t iEnd = i + 1, jEnd = j + 1;
    int64_t left = from[i], right = to[j];
    while (left != right)
      if (left < right ? iEnd < from.size() : jEnd == to.size())
        left *= from[iEnd++];
      else
        right *= to[jEnd++];
    auto pieces = nestDimensions(from.slice(i, iEnd - i), to.slice(j, jEnd - j));
    for (const ReshapePiece &piece : pieces) {
      int factor = b.rule.addFactor(piece.size);
      operand[i + piece.i].push_back(factor);
      result[j + piece.j].push_back(factor);
    }
    if (pieces.empty() && left != 1) {
      for (size_t d = i; d < iEnd; ++d)
        operand[d] = b.dim(from[d], /*cuttable=*/false);
      for (size_t d = j; d < jEnd; ++d)
        result[d] = b.dim(to[d], /*cuttable=*/false);
    }
    i = iEnd;
    j = jEnd;
  }
  b.rule.operands = {operand};
  b.rule.results = {result};
  return b.rule;
}

FactorRule transposeRule(TransposeOp op) {
  RuleBuilder b;
  TensorFactors operand = b.fresh(shaped(op.getOperand())), result;
  for (int64_t dim : op.getPermutation())
    result.push_back(operand[dim]);
  b.rule.operands = {operand};
  b.rule.results = {result};
  return b.rule;
}

/// Dimensions that keep all their elements in place are parallel, the others are not cut.
FactorRule keptDimsRule(Operation *op, llvm::function_ref<bool(unsigned)> kept) {
  RuleBuilder b;
  auto to = shaped(op->getResult(0));
  b.rule.operands.resize(op->getNumOperands());
  TensorFactors result;
  for (unsigned d = 0; d < to.getRank(); ++d) {
    DimFactors same = kept(d) ? b.dim(to.getDimSize(d)) : b.dim(to.getDimSize(d), /*cuttable=*/false);
    result.push_back(same);
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (shaped(operand).getRank() == to.getRank())
        b.rule.operands[i].push_back(kept(d) ? same : b.dim(shaped(operand).getDimSize(d), /*cuttable=*/false));
  }
  b.rule.results.assign(op->getNumResults(), result);
  return b.rule;
}

FactorRule reduceRule(ReduceOp op) {
  RuleBuilder b;
  TensorFactors operand = b.fresh(shaped(op.getOperand())), result;
  for (auto [d, factors] : llvm::enumerate(operand))
    if (llvm::is_contained(op.getDims(), d))
      b.reduce(factors, op.getKind());
    else
      result.push_back(factors);
  b.rule.operands = {operand};
  b.rule.results = {result};
  return b.rule;
}

FactorRule einsumRule(EinsumOp op) {
  RuleBuilder b;
  EinsumSpec spec = *EinsumSpec::parse(op.getSpec());
  llvm::DenseMap<char, DimFactors> letters;
  auto tensor = [&](const std::string &word, Value value) {
    TensorFactors dims;
    for (auto [letter, size] : llvm::zip(word, shaped(value).getShape())) {
      auto [it, isNew] = letters.try_emplace(letter);
      if (isNew)
        it->second = b.dim(size);
      if (isNew && !EinsumSpec::has(spec.result, letter))
        b.reduce(it->second, ReduceKind::Sum);
      dims.push_back(it->second);
    }
    return dims;
  };
  b.rule.operands.push_back(tensor(spec.lhs, op.getLhs()));
  b.rule.operands.push_back(tensor(spec.rhs, op.getRhs()));
  b.rule.results = {tensor(spec.result, op.getResult())};
  return b.rule;
}

/// Rows x[batch.., outer.., n, inner..] <-> gathered [batch.., outer.., ids.., inner..]; n is reduced (each shard has some of the rows).
FactorRule gatherRule(ShapedType x, ShapedType ids, int64_t axis, int64_t batchDims, bool isScatter) {
  RuleBuilder b;
  TensorFactors xDims = b.fresh(x), idDims, rows;
  for (int64_t d = 0; d < ids.getRank(); ++d)
    idDims.push_back(d < batchDims ? xDims[d] : b.dim(ids.getDimSize(d)));
  rows.append(xDims.begin(), xDims.begin() + axis);
  rows.append(idDims.begin() + batchDims, idDims.end());
  rows.append(xDims.begin() + axis + 1, xDims.end());
  b.positional(xDims[axis]);
  if (isScatter) {
    for (int64_t d = batchDims; d < ids.getRank(); ++d)
      b.reduce(idDims[d], ReduceKind::Sum);
    b.rule.operands = {rows, idDims};
    b.rule.results = {xDims};
  } else {
    b.reduce(xDims[axis], ReduceKind::Sum);
    b.rule.operands = {xDims, idDims};
    b.rule.results = {rows};
  }
  return b.rule;
}

/// Row-wise operations over the last dimension: 'x' is a tensor of all factors, 'r' one without the last (statistics, indices), 'l' one of the
/// last alone (scale, bias). The last factor is cut only by the cross entropies.
FactorRule rowRule(Value full, StringRef operands, StringRef results, bool cuttableLast = false) {
  RuleBuilder b;
  TensorFactors dims = b.fresh(shaped(full));
  if (!cuttableLast)
    b.keepWhole(dims.back());
  auto tensor = [&](char kind) -> TensorFactors {
    if (kind == 'x')
      return dims;
    if (kind == 'l')
      return {dims.back()};
    return TensorFactors(dims.begin(), dims.end() - 1);
  };
  for (char kind : operands)
    b.rule.operands.push_back(tensor(kind));
  for (char kind : results)
    b.rule.results.push_back(tensor(kind));
  return b.rule;
}

/// The logits' dimension may be cut: targets are found by position.
FactorRule crossEntropyRule(Value logits, StringRef operands, StringRef results, ReduceKind kind = ReduceKind::Sum) {
  FactorRule rule = rowRule(logits, operands, results, /*cuttableLast=*/true);
  auto logitDims = rule.operands[operands.find('x')];
  for (int factor : logitDims.back()) {
    rule.factors[factor].positional = true;
    rule.factors[factor].reduce = kind;
  }
  return rule;
}

FactorRule ropeRule(RopeOp op) {
  RuleBuilder b;
  TensorFactors x = b.fresh(shaped(op.getOperand()));
  b.keepWhole(x[3]);
  TensorFactors table{x[1], x[3]};
  if (shaped(op.getCos()).getRank() == 3)
    table.insert(table.begin(), x[0]);
  b.rule.operands = {x, table, table};
  b.rule.results = {x};
  return b.rule;
}

/// Batch and heads are parallel; a head dimension of q is (key heads, queries per key head). Sequences and the head's depth stay whole.
struct AttentionFactors {
  RuleBuilder b;
  TensorFactors query, key, lse;

  AttentionFactors(Value q, Value k) {
    auto qShape = shaped(q).getShape(), kShape = shaped(k).getShape();
    DimFactors batch = b.dim(qShape[0]), keyHeads = b.dim(kShape[2]), group = b.dim(qShape[2] / kShape[2]);
    DimFactors s = b.dim(qShape[1], false), t = b.dim(kShape[1], false), depth = b.dim(qShape[3], false);
    DimFactors heads = keyHeads;
    heads.append(group);
    if (!keyHeads.empty())
      b.keepWhole(group);
    query = {batch, s, heads, depth};
    key = {batch, t, keyHeads, depth};
    lse = {batch, heads, s};
  }
  TensorFactors mask(Value value) {
    TensorFactors full{query[0], query[2], query[1], key[1]};
    for (auto [dim, size] : llvm::zip(full, shaped(value).getShape()))
      if (size == 1)
        dim.clear();
    return full;
  }
};

FactorRule attentionRule(AttentionOp op) {
  AttentionFactors f(op.getQuery(), op.getKey());
  f.b.rule.operands = {f.query, f.key, f.key};
  if (op.getMask())
    f.b.rule.operands.push_back(f.mask(op.getMask()));
  f.b.rule.results = {f.query, f.lse};
  return f.b.rule;
}

FactorRule attentionGradRule(AttentionGradOp op) {
  AttentionFactors f(op.getQuery(), op.getKey());
  f.b.rule.operands = {f.query, f.query, f.key, f.key, f.query, f.lse};
  if (op.getMask())
    f.b.rule.operands.push_back(f.mask(op.getMask()));
  f.b.rule.results = {f.query, f.key, f.key};
  return f.b.rule;
}

FactorRule iotaRule(IotaOp op) {
  RuleBuilder b;
  b.rule.results = {b.fresh(op.getType())};
  b.positional(b.rule.results[0][op.getDim()]);
  return b.rule;
}

/// A splat may be cut anywhere; the elements of any other constant stay together.
FactorRule constantRule(ConstantOp op) {
  RuleBuilder b;
  bool isSplat = op.getValue().isSplat();
  TensorFactors dims;
  for (int64_t size : shaped(op.getResult()).getShape())
    dims.push_back(b.dim(size, isSplat));
  b.rule.results = {dims};
  return b.rule;
}
} // namespace

FactorRule p3d::graph::getFactorRule(Operation *op) {
  auto sizeOf = [](Value value, unsigned dim) { return shaped(value).getDimSize(dim); };
  return TypeSwitch<Operation *, FactorRule>(op)
      .Case([](BroadcastOp op) { return broadcastRule(op); })
      .Case([](ReshapeOp op) { return reshapeRule(op); })
      .Case([](TransposeOp op) { return transposeRule(op); })
      .Case([](ReduceOp op) { return reduceRule(op); })
      .Case([](EinsumOp op) { return einsumRule(op); })
      .Case([](IotaOp op) { return iotaRule(op); })
      .Case([](ConstantOp op) { return constantRule(op); })
      .Case([&](SliceOp op) {
        return keptDimsRule(op, [&](unsigned d) { return sizeOf(op.getOperand(), d) == sizeOf(op.getResult(), d); });
      })
      .Case([&](PadOp op) {
        return keptDimsRule(op, [&](unsigned d) { return op.getLow()[d] == 0 && op.getHigh()[d] == 0 && op.getInterior()[d] == 0; });
      })
      .Case([](ConcatOp op) { return keptDimsRule(op, [&](unsigned d) { return d != op.getDim(); }); })
      .Case([](ReverseOp op) { return keptDimsRule(op, [&](unsigned d) { return !llvm::is_contained(op.getDims(), d); }); })
      .Case([](CumulativeOp op) { return keptDimsRule(op, [&](unsigned d) { return d != op.getDim(); }); })
      .Case([](TopKOp op) { return keptDimsRule(op, [&](unsigned d) { return d + 1 < shaped(op.getOperand()).getRank(); }); })
      .Case([](SortOp op) { return keptDimsRule(op, [&](unsigned d) { return d + 1 < shaped(op.getOperand()).getRank(); }); })
      .Case([](GatherOp op) { return gatherRule(shaped(op.getOperand()), shaped(op.getIds()), op.getAxis(), op.getBatchDims(), false); })
      .Case([](ScatterAddOp op) { return gatherRule(op.getType(), shaped(op.getIds()), op.getAxis(), op.getBatchDims(), true); })
      .Case([](EmbeddingOp op) { return gatherRule(shaped(op.getTable()), shaped(op.getIds()), 0, 0, false); })
      .Case([](EmbeddingGradOp op) { return gatherRule(shaped(op.getDTable()), shaped(op.getIds()), 0, 0, true); })
      .Case([](LayerNormOp op) { return rowRule(op.getOperand(), "xll", "xrr"); })
      .Case([](LayerNormGradOp op) { return rowRule(op.getOperand(), "xxlrr", "xll"); })
      .Case([](RmsNormOp op) { return rowRule(op.getOperand(), "xl", "xr"); })
      .Case([](RmsNormGradOp op) { return rowRule(op.getOperand(), "xxlr", "xl"); })
      .Case([](SoftmaxOp op) { return rowRule(op.getOperand(), "x", "x"); })
      .Case([](SoftmaxGradOp op) { return rowRule(op.getLhs(), "xx", "x"); })
      .Case([](SoftmaxCrossEntropyOp op) { return rowRule(op.getLogits(), "xr", "rrr"); })
      .Case([](SoftmaxCrossEntropyGradOp op) { return crossEntropyRule(op.getLogits(), "rxrrr", "x"); })
      .Case([](CrossEntropyMaxOp op) { return crossEntropyRule(op.getLogits(), "x", "r", ReduceKind::Max); })
      .Case([](CrossEntropySumOp op) { return crossEntropyRule(op.getLogits(), "xrr", "rr"); })
      .Case([](RopeOp op) { return ropeRule(op); })
      .Case([](AttentionOp op) { return attentionRule(op); })
      .Case([](AttentionGradOp op) { return attentionGradRule(op); })
      .Default([](Operation *op) { return elementwiseRule(op); });
}

Linearity p3d::graph::getLinearity(Operation *op) {
  return TypeSwitch<Operation *, Linearity>(op)
      .Case<AddOp, SubOp>([](auto) { return Linearity{Linearity::Joint, {0, 1}}; })
      .Case<NegOp, ConstrainOp, BroadcastOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp>([](auto) { return Linearity{Linearity::Joint, {0}}; })
      .Case([](ConvertOp op) {
        bool floats = isa<FloatType>(shaped(op.getOperand()).getElementType()) && isa<FloatType>(op.getType().getElementType());
        bool widens = floats && shaped(op.getOperand()).getElementTypeBitWidth() <= op.getType().getElementTypeBitWidth();
        return widens ? Linearity{Linearity::Joint, {0}} : Linearity{};
      })
      .Case([](ReduceOp op) { return op.getKind() == ReduceKind::Sum ? Linearity{Linearity::Joint, {0}} : Linearity{}; })
      .Case([](CumulativeOp op) { return op.getKind() == ReduceKind::Sum ? Linearity{Linearity::Joint, {0}} : Linearity{}; })
      .Case([](ConcatOp op) {
        Linearity all{Linearity::Joint, {}};
        for (unsigned i = 0; i < op->getNumOperands(); ++i)
          all.operands.push_back(i);
        return all;
      })
      .Case([](SelectOp) { return Linearity{Linearity::Joint, {1, 2}}; })
      .Case([](PadOp op) {
        bool padsZeros = matchPattern(op.getValue(), m_AnyZeroFloat());
        return padsZeros ? Linearity{Linearity::Joint, {0}} : Linearity{Linearity::Joint, {0, 1}};
      })
      .Case<GatherOp, ScatterAddOp, EmbeddingOp, EmbeddingGradOp>([](auto) { return Linearity{Linearity::Joint, {0}}; })
      .Case<MulOp, EinsumOp>([](auto) { return Linearity{Linearity::Each, {0, 1}}; })
      .Case([](DivOp) { return Linearity{Linearity::Each, {0}}; })
      .Case<LayerNormGradOp, RmsNormGradOp, SiluGradOp, GeluGradOp, SwigluGradOp, SoftmaxCrossEntropyGradOp, AttentionGradOp>(
          [](auto) { return Linearity{Linearity::Each, {0}}; })
      .Case([](SoftmaxGradOp) { return Linearity{Linearity::Each, {1}}; })
      .Case([](RopeOp) { return Linearity{Linearity::Joint, {0}}; })
      .Default([](Operation *) { return Linearity{}; });
}
