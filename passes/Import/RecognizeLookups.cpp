// embedding: a gather of a table's rows by ids whose negative ones count from the end. rope: rotation of the halves of each head.
#include "passes/Import/Passes.h"
#include "passes/Import/RecognitionMatchers.h"
#include "passes/Import/Translation.h"

namespace p3d {
#define GEN_PASS_DEF_RECOGNIZELOOKUPS
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// The ids before negative ones were repaired by adding `rows`; null when they are not repaired.
Value matchRepairedIds(Value ids, int64_t rows) {
  auto select = ids.getDefiningOp<graph::SelectOp>();
  if (!select)
    return {};
  auto compare = select.getPredicate().getDefiningOp<graph::CompareOp>();
  auto add = select.getOnTrue().getDefiningOp<graph::AddOp>();
  Value raw = select.getOnFalse();
  bool fits = compare && add && compare.getPredicate() == graph::ComparePredicate::Lt && compare.getLhs() == raw &&
              isUniform(compare.getRhs(), 0) && add.getLhs() == raw && isUniform(add.getRhs(), rows);
  return fits ? raw : Value();
}

Value recognizeEmbedding(graph::GatherOp gather, OpBuilder &builder) {
  auto table = graph::tensorType(gather.getOperand());
  if (table.getRank() != 2 || !isa<FloatType>(table.getElementType()) || gather.getAxis() != 0 || gather.getBatchDims() != 0)
    return {};
  Value ids = gather.getIds();
  bool cannotBeNegative = graph::tensorType(ids).getElementType().isUnsignedInteger() || iotaDim(ids);
  Value raw = matchRepairedIds(ids, table.getDimSize(0));
  if (!raw && !cannotBeNegative)
    return {};
  return builder.create<graph::EmbeddingOp>(gather.getLoc(), gather.getType(), gather.getOperand(), raw ? raw : ids);
}

//===--------------------------------------------------------------------------------------------------------------===//
// rope
//===--------------------------------------------------------------------------------------------------------------===//

/// Half `second` of the last dimension of x, where `value` is that slice.
Value matchHalf(Value value, bool second) {
  auto slice = value.getDefiningOp<graph::SliceOp>();
  if (!slice)
    return {};
  auto type = graph::tensorType(slice.getOperand());
  int64_t last = type.getRank() - 1, half = type.getDimSize(last) / 2;
  for (int64_t dim = 0; dim <= last; ++dim) {
    int64_t start = dim == last && second ? half : 0, limit = dim == last && !second ? half : type.getDimSize(dim);
    if (slice.getStarts()[dim] != start || slice.getLimits()[dim] != limit || slice.getStrides()[dim] != 1)
      return {};
  }
  return slice.getOperand();
}

/// x, where `value` is concat(-x[d/2:], x[:d/2]) along the last dimension.
Value matchRotated(Value value) {
  auto concat = value.getDefiningOp<graph::ConcatOp>();
  if (!concat || concat->getNumOperands() != 2 || int64_t(concat.getDim()) != concat.getType().getRank() - 1)
    return {};
  auto neg = concat->getOperand(0).getDefiningOp<graph::NegOp>();
  Value x = matchHalf(concat->getOperand(1), false);
  return neg && x && matchHalf(neg.getOperand(), true) == x ? x : Value();
}

/// Whether the two halves of the last dimension are alike: a concatenation of a tensor with itself, and what is computed from it.
bool hasEqualHalves(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto concat = dyn_cast<graph::ConcatOp>(op))
    return concat->getNumOperands() == 2 && int64_t(concat.getDim()) == concat.getType().getRank() - 1 &&
           concat->getOperand(0) == concat->getOperand(1);
  int64_t last = graph::tensorType(value).getShape().back();
  if (isa<graph::ReshapeOp, graph::BroadcastOp>(op)) {
    auto from = graph::tensorType(op->getOperand(0)).getShape();
    return !from.empty() && from.back() == last && hasEqualHalves(op->getOperand(0));
  }
  return op->hasTrait<graph::Elementwise>() &&
         llvm::all_of(op->getOperands(), [](Value operand) { return uniformValue(operand) || hasEqualHalves(operand); });
}

/// The table behind a factor of a tensor [b, .., .., d]: over position (dimension `sequence`) and d, or batch, position and d.
struct Table {
  Value value;
  int64_t sequence;
};
std::optional<Table> matchTable(Value factor, OpBuilder &builder) {
  Spread spread = spreadOf(factor);
  auto type = graph::tensorType(factor);
  SmallVector<int64_t> dims;
  for (int64_t dim : spread.dims)
    if (dim >= 0)
      dims.push_back(dim);
  if (!llvm::is_sorted(dims) || dims.size() < 2 || dims.size() > 3 || dims.back() != 3 || (dims.size() == 3 && dims[0] != 0) ||
      dims[dims.size() - 2] == 0 || !hasEqualHalves(spread.source))
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(type.getDimSize(dim));
  return Table{reshape(builder, factor.getLoc(), spread.source, shape), dims[dims.size() - 2]};
}

/// x * cos + rotated(x) * sin; x [b, s, h, d], or [b, h, s, d] with a transpose around.
Value recognizeRope(graph::AddOp add, OpBuilder &builder) {
  if (add.getType().getRank() != 4)
    return {};
  for (auto [plain, rotated] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    auto plainMul = plain.getDefiningOp<graph::MulOp>(), rotatedMul = rotated.getDefiningOp<graph::MulOp>();
    if (!plainMul || !rotatedMul)
      continue;
    for (auto [turned, sinFactor] :
         {std::pair(rotatedMul.getLhs(), rotatedMul.getRhs()), std::pair(rotatedMul.getRhs(), rotatedMul.getLhs())}) {
      Value x = matchRotated(withoutWidening(turned));
      Value cosFactor = !x                                        ? Value()
                        : withoutWidening(plainMul.getLhs()) == x ? plainMul.getRhs()
                        : withoutWidening(plainMul.getRhs()) == x ? plainMul.getLhs()
                                                                  : Value();
      if (!cosFactor)
        continue;
      auto cos = matchTable(cosFactor, builder), sin = matchTable(sinFactor, builder);
      if (!cos || !sin || cos->sequence != sin->sequence || cos->value.getType() != sin->value.getType())
        return {};
      SmallVector<int64_t> order{0, 1, 2, 3};
      std::swap(order[1], order[cos->sequence]);
      Location loc = add.getLoc();
      Value arranged = transpose(builder, loc, x, order);
      // Where every use rounds the sum to the type of x, the result has that type itself.
      auto type = graph::tensorType(arranged).clone(add.getType().getElementType());
      if (llvm::all_of(add->getUsers(), [&](Operation *user) { return isa<graph::ConvertOp>(user) && user->getResult(0).getType() == x.getType(); }))
        type = graph::tensorType(arranged);
      Value turnedBack = builder.create<graph::RopeOp>(loc, type, arranged, cos->value, sin->value, false);
      turnedBack = transpose(builder, loc, turnedBack, order);
      if (turnedBack.getType() != add.getType())
        turnedBack = builder.create<graph::ConvertOp>(loc, add.getType(), turnedBack);
      return turnedBack;
    }
  }
  return {};
}

struct RecognizeLookupsPass : p3d::impl::RecognizeLookupsBase<RecognizeLookupsPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    replaceInReverse(getOperation(), [&](Operation *op) -> Value {
      builder.setInsertionPoint(op);
      if (auto gather = dyn_cast<graph::GatherOp>(op))
        return recognizeEmbedding(gather, builder);
      if (auto add = dyn_cast<graph::AddOp>(op))
        return recognizeRope(add, builder);
      return {};
    });
  }
};

} // namespace
