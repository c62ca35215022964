// Patterns from named operations to those that have kernels. Named floats of 16 bits are computed in f32 and rounded once.
#include "passes/Memory/Passes.h"

namespace p3d::memory {
#define GEN_PASS_DEF_EXPANDNAMEDOPS
#include "passes/Memory/Passes.h.inc"
} // namespace p3d::memory

using namespace mlir;
using namespace p3d;

namespace {
/// Rows of the whole table of an embedding, of which this rank may hold a part.
int64_t tableRows(Operation *op, RankedTensorType table) {
  auto shard = op->getAttrOfType<dist::ShardAttr>(dist::kShardAttr);
  return shard && shard.getDim() == 0 ? shard.getFull() : table.getDimSize(0);
}

RankedTensorType withElement(RankedTensorType type, Type element) { return RankedTensorType::get(type.getShape(), element); }

/// Short forms for building graph operations at one place.
struct Build {
  OpBuilder &builder;
  Location loc;

  Value convert(Value value, Type element) {
    auto type = graph::tensorType(value);
    return type.getElementType() == element
               ? value
               : builder.create<graph::ConvertOp>(loc, withElement(type, element), value).getResult();
  }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, graph::tensorType(value).getElementType());
    return type == value.getType() ? value : builder.create<graph::ReshapeOp>(loc, type, value).getResult();
  }
  Value splat(RankedTensorType type, double number) {
    Type element = type.getElementType();
    Attribute value = isa<FloatType>(element)
                          ? Attribute(builder.getFloatAttr(element, number))
                          : Attribute(IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), static_cast<int64_t>(number), true)));
    return builder.create<graph::ConstantOp>(loc, type, DenseElementsAttr::get(type, value));
  }
  Value broadcast(Value value, RankedTensorType type, ArrayRef<int64_t> dims) {
    return builder.create<graph::BroadcastOp>(loc, type, value, dims);
  }
  /// Entries [begin, end) of dimension `dim`.
  Value slice(Value value, int64_t dim, int64_t begin, int64_t end) {
    auto type = graph::tensorType(value);
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1), shape(type.getShape());
    starts[dim] = begin, limits[dim] = end, shape[dim] = end - begin;
    return builder.create<graph::SliceOp>(loc, type.clone(shape), value, starts, limits, strides);
  }
  template <typename Op> Value op(Value a, Value b) { return builder.create<Op>(loc, a.getType(), a, b); }
  template <typename Op> Value op(Value a) { return builder.create<Op>(loc, a.getType(), a); }
};

bool is16Bits(Type element) { return element.isBF16() || element.isF16(); }

/// Sums and products of 16-bit floats are kept in f32 and rounded once.
struct WidenReduce : OpRewritePattern<graph::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ReduceOp op, PatternRewriter &rewriter) const override {
    Type element = op.getType().getElementType();
    bool rounds = op.getKind() == graph::ReduceKind::Sum || op.getKind() == graph::ReduceKind::Prod;
    if (!is16Bits(element) || !rounds)
      return failure();
    Build b{rewriter, op.getLoc()};
    Type f32 = rewriter.getF32Type();
    Value sum = rewriter.create<graph::ReduceOp>(op.getLoc(), withElement(op.getType(), f32), op.getKind(),
                                                 b.convert(op.getOperand(), f32), op.getDims());
    rewriter.replaceOp(op, b.convert(sum, element));
    return success();
  }
};

/// Products of tensors for whose types there is no kernel: f32 between conversions (i1 and integers are refused).
struct WidenEinsum : OpRewritePattern<graph::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::EinsumOp op, PatternRewriter &rewriter) const override {
    Type lhs = op.getLhs().getType().getElementType(), rhs = op.getRhs().getType().getElementType();
    Type result = op.getType().getElementType(), f32 = rewriter.getF32Type();
    bool operandsFit = lhs == rhs, resultFits = result == lhs || result.isF32();
    bool areFloats = isa<FloatType>(lhs) && isa<FloatType>(rhs) && !lhs.isF64() && !rhs.isF64() && !result.isF64();
    if (!areFloats || (operandsFit && resultFits))
      return failure();
    Build b{rewriter, op.getLoc()};
    Value left = op.getLhs(), right = op.getRhs();
    if (!operandsFit)
      left = b.convert(left, f32), right = b.convert(right, f32);
    Value product = rewriter.create<graph::EinsumOp>(op.getLoc(), withElement(op.getType(), f32), op.getSpec(), left, right);
    rewriter.replaceOp(op, b.convert(product, result));
    return success();
  }
};

/// A transposed operand is the same product with other letters.
struct FoldTranspose : OpRewritePattern<graph::EinsumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::EinsumOp op, PatternRewriter &rewriter) const override {
    auto [operands, result] = op.getSpec().split("->");
    auto [lhs, rhs] = operands.split(",");
    Value left = op.getLhs(), right = op.getRhs();
    std::string leftLetters = fold(left, lhs), rightLetters = fold(right, rhs);
    if (left == op.getLhs() && right == op.getRhs())
      return failure();
    std::string spec = leftLetters + "," + rightLetters + "->" + result.str();
    rewriter.replaceOpWithNewOp<graph::EinsumOp>(op, op.getType(), spec, left, right);
    return success();
  }
  static std::string fold(Value &operand, StringRef letters) {
    std::string folded = letters.str();
    if (auto transpose = operand.getDefiningOp<graph::TransposeOp>()) {
      for (auto [letter, dim] : llvm::zip(letters, transpose.getPermutation()))
        folded[dim] = letter;
      operand = transpose.getOperand();
    }
    return folded;
  }
};

/// Halves of the head dimension: y0 = x0 cos - x1 sin, y1 = x1 cos + x0 sin; transposed, the other sign.
struct ExpandRope : OpRewritePattern<graph::RopeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::RopeOp op, PatternRewriter &rewriter) const override {
    Build b{rewriter, op.getLoc()};
    auto type = graph::tensorType(op.getOperand());
    Type f32 = rewriter.getF32Type();
    int64_t half = type.getDimSize(3) / 2;
    Value x = b.convert(op.getOperand(), f32);
    Value first = b.slice(x, 3, 0, half), second = b.slice(x, 3, half, 2 * half);
    auto halfType = graph::tensorType(first);
    auto table = [&](Value angles) {
      int64_t rank = graph::tensorType(angles).getRank();
      Value part = b.slice(b.convert(angles, f32), rank - 1, 0, half);
      return b.broadcast(part, halfType, rank == 2 ? ArrayRef<int64_t>({1, 3}) : ArrayRef<int64_t>({0, 1, 3}));
    };
    Value cos = table(op.getCos()), sin = table(op.getSin());
    if (op.getTransposed())
      sin = b.op<graph::NegOp>(sin);
    Value y0 = b.op<graph::SubOp>(b.op<graph::MulOp>(first, cos), b.op<graph::MulOp>(second, sin));
    Value y1 = b.op<graph::AddOp>(b.op<graph::MulOp>(second, cos), b.op<graph::MulOp>(first, sin));
    Type element = type.getElementType();
    Value halves[] = {b.convert(y0, element), b.convert(y1, element)};
    rewriter.replaceOpWithNewOp<graph::ConcatOp>(op, type, halves, 3);
    return success();
  }
};

struct ExpandCrossEntropy : OpRewritePattern<graph::SoftmaxCrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::SoftmaxCrossEntropyOp op, PatternRewriter &rewriter) const override {
    Build b{rewriter, op.getLoc()};
    Type rows = op.getLoss().getType();
    auto max = rewriter.create<graph::CrossEntropyMaxOp>(op.getLoc(), rows, op.getLogits());
    auto sum = rewriter.create<graph::CrossEntropySumOp>(op.getLoc(), rows, rows, op.getLogits(), op.getTargets(), max.getMax());
    for (Operation *piece : {max.getOperation(), sum.getOperation()})
      if (Attribute shard = op->getAttr(dist::kShardAttr))
        piece->setAttr(dist::kShardAttr, shard);
    Value loss = b.op<graph::SubOp>(b.op<graph::AddOp>(b.op<graph::LogOp>(sum.getSum()), max.getMax()), sum.getTarget());
    rewriter.replaceOp(op, {loss, max.getMax(), sum.getSum()});
    return success();
  }
};

/// The kernels take i32 targets.
template <typename Op> struct NarrowTargets : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type i32 = rewriter.getI32Type();
    if (op.getTargets().getType().getElementType() == i32)
      return failure();
    Value narrow = Build{rewriter, op.getLoc()}.convert(op.getTargets(), i32);
    rewriter.modifyOpInPlace(op, [&] { op.getTargetsMutable().assign(narrow); });
    return success();
  }
};

/// Ids from 0 on: negative ones count from the end of a table of `rows`.
Value wrapIds(Build &b, Value ids, int64_t rows) {
  auto type = graph::tensorType(ids);
  if (type.getElementType().isUnsignedInteger())
    return ids;
  Value isNegative = b.builder.create<graph::CompareOp>(b.loc, withElement(type, b.builder.getI1Type()),
                                                        graph::ComparePredicate::Lt, ids, b.splat(type, 0));
  Value wrapped = b.op<graph::AddOp>(ids, b.splat(type, rows));
  return b.builder.create<graph::SelectOp>(b.loc, type, isNegative, wrapped, ids);
}

struct ExpandEmbedding : OpRewritePattern<graph::EmbeddingOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::EmbeddingOp op, PatternRewriter &rewriter) const override {
    Build b{rewriter, op.getLoc()};
    Value ids = wrapIds(b, op.getIds(), tableRows(op, op.getTable().getType()));
    auto gather = rewriter.create<graph::GatherOp>(op.getLoc(), op.getType(), op.getTable(), ids, 0, 0);
    if (Attribute shard = op->getAttr(dist::kShardAttr))
      gather->setAttr(dist::kShardAttr, shard);
    rewriter.replaceOp(op, gather);
    return success();
  }
};

struct ExpandEmbeddingGrad : OpRewritePattern<graph::EmbeddingGradOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::EmbeddingGradOp op, PatternRewriter &rewriter) const override {
    Build b{rewriter, op.getLoc()};
    Value ids = wrapIds(b, op.getIds(), tableRows(op, graph::tensorType(op.getDTable())));
    auto scatter = rewriter.create<graph::ScatterAddOp>(op.getLoc(), op.getDTable().getType(), op.getDResult(), ids, 0, 0);
    if (Attribute shard = op->getAttr(dist::kShardAttr))
      scatter->setAttr(dist::kShardAttr, shard);
    rewriter.replaceOp(op, scatter);
    return success();
  }
};

/// The kernels write i32 indices.
template <typename Op> struct NarrowIndices : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto type = graph::tensorType(op.getIndices());
    if (type.getElementType().isSignlessInteger(32))
      return failure();
    rewriter.setInsertionPointAfter(op);
    rewriter.modifyOpInPlace(op, [&] { op.getIndices().setType(withElement(type, rewriter.getI32Type())); });
    auto wide = rewriter.create<graph::ConvertOp>(op.getLoc(), type, op.getIndices());
    rewriter.replaceAllUsesExcept(op.getIndices(), wide.getResult(), wide);
    return success();
  }
};

/// A slice that reaches beyond the end is one of a longer tensor.
struct PadSlice : OpRewritePattern<dist::ShardSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dist::ShardSliceOp op, PatternRewriter &rewriter) const override {
    auto mesh = op->getParentOfType<ModuleOp>()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    auto type = graph::tensorType(op.getOperand());
    int64_t dim = op.getDim();
    if (!mesh)
      return failure();
    int64_t needed = graph::tensorType(op.getResult()).getDimSize(dim) * mesh.getSize(op.getAxis());
    if (needed <= type.getDimSize(dim))
      return failure();
    Build b{rewriter, op.getLoc()};
    SmallVector<int64_t> none(type.getRank(), 0), high(none), shape(type.getShape());
    high[dim] = needed - shape[dim];
    shape[dim] = needed;
    Value zero = b.splat(RankedTensorType::get({}, type.getElementType()), 0);
    Value padded = rewriter.create<graph::PadOp>(op.getLoc(), type.clone(shape), op.getOperand(), zero, none, high, none);
    rewriter.modifyOpInPlace(op, [&] { op.getOperandMutable().assign(padded); });
    return success();
  }
};

/// Rows of the whole tensor where `op` holds a part of those that its ids choose from.
template <typename Op> std::optional<int64_t> shardedRows(Op op) {
  auto shard = op->template getAttrOfType<dist::ShardAttr>(dist::kShardAttr);
  return shard && shard.getDim() == int64_t(op.getAxis()) ? std::optional<int64_t>(shard.getFull()) : std::nullopt;
}

/// The kernels take an id outside of their rows for one of another part, so that those outside of all parts are clamped before, as gather does.
template <typename Op> void clampIds(Op op) {
  std::optional<int64_t> rows = shardedRows(op);
  if (!rows)
    return;
  OpBuilder builder(op);
  Build b{builder, op.getLoc()};
  Value ids = op.getIds();
  auto type = graph::tensorType(ids);
  bool isUnsigned = type.getElementType().isUnsignedInteger();
  if (!isUnsigned)
    ids = b.op<graph::MaxOp>(ids, b.splat(type, 0));
  if (unsigned bits = type.getElementTypeBitWidth() - !isUnsigned; bits >= 63 || *rows - 1 < int64_t(1) << bits)
    ids = b.op<graph::MinOp>(ids, b.splat(type, *rows - 1));
  op.getIdsMutable().assign(ids);
}

struct ExpandNamedOps : memory::impl::ExpandNamedOpsBase<ExpandNamedOps> {
  void runOnOperation() override {
    // While embeddings can still be told from other gathers.
    RewritePatternSet patterns(&getContext());
    patterns.add<WidenReduce, WidenEinsum, FoldTranspose, ExpandRope, ExpandCrossEntropy, ExpandEmbedding, ExpandEmbeddingGrad,
                 PadSlice, NarrowTargets<graph::CrossEntropySumOp>, NarrowTargets<graph::SoftmaxCrossEntropyGradOp>,
                 NarrowIndices<graph::TopKOp>, NarrowIndices<graph::SortOp>>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([](Operation *op) { TypeSwitch<Operation *>(op).Case<graph::GatherOp, graph::ScatterAddOp>([](auto op) { clampIds(op); }); });
  }
};
} // namespace
