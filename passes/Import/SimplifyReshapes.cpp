// Reshapes that merge dimensions or add units move behind what is computed from them, so that batch, sequence and heads stay dimensions of their own:
// libraries flatten [b, s, d] to [b s, d] before each product and cut it again after.
#include "dialects/Graph/EinsumSpec.h"
#include "passes/Import/RecognitionMatchers.h"
#include "passes/Import/Simplifications.h"
#include "passes/Import/Translation.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

using Shape = SmallVector<int64_t>;

/// A reshape each of whose result dimensions is a group of consecutive operand dimensions: of several for one that is merged, of none for a new one
/// of size 1.
struct Merge {
  Value operand;
  SmallVector<Shape> groups; ///< operand dimensions of each result dimension

  Dims shape() const { return graph::tensorType(operand).getShape(); }
  bool merges(int64_t dim) const {
    return llvm::count_if(groups[dim], [&](int64_t i) { return shape()[i] != 1; }) > 1;
  }
  /// Sizes of the group of result dimension `dim`.
  Shape sizes(int64_t dim) const {
    Shape sizes;
    for (int64_t i : groups[dim])
      sizes.push_back(shape()[i]);
    return sizes;
  }
};

std::optional<Merge> matchMerge(Value value) {
  auto reshape = value.getDefiningOp<graph::ReshapeOp>();
  if (!reshape)
    return std::nullopt;
  auto from = graph::tensorType(reshape.getOperand()).getShape(), to = reshape.getType().getShape();
  Merge merge{reshape.getOperand(), {}};
  size_t i = 0;
  bool merges = false;
  for (auto [dim, size] : llvm::enumerate(to)) {
    Shape group;
    int64_t product = 1;
    bool isNew = size == 1 && (i == from.size() || from[i] != 1);
    while (!isNew && i < from.size() && (product < size || group.empty() || dim + 1 == to.size())) {
      product *= from[i];
      group.push_back(i++);
    }
    if (product != size)
      return std::nullopt;
    merge.groups.push_back(group);
    merges |= isNew || merge.merges(dim);
  }
  return merges && i == from.size() ? std::optional(merge) : std::nullopt;
}

bool sameGroups(const Merge &a, const Merge &b) { return a.shape() == b.shape() && a.groups == b.groups; }

/// An operand of an element-wise operation in the shape before the merge: the operand of an equal merge, a uniform number, or a tensor spread over
/// the merged dimensions. Null for others. With a null builder only says whether it can be had, by returning the value itself.
Value beforeMerge(Value value, const Merge &merge, PatternRewriter *rewriter) {
  auto type = graph::tensorType(value).clone(merge.shape());
  if (auto other = matchMerge(value); other && sameGroups(*other, merge))
    return other->operand;
  if (auto constant = value.getDefiningOp<graph::ConstantOp>(); constant && constant.getValue().isSplat()) {
    if (!rewriter)
      return value;
    auto elements = cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type);
    return rewriter->create<graph::ConstantOp>(constant.getLoc(), type, cast<ElementsAttr>(elements));
  }
  Spread spread = spreadOf(value);
  if (spread.source == value)
    return {};
  Shape dims, kept;
  for (auto [i, dim] : llvm::enumerate(spread.dims)) {
    if (dim < 0)
      continue;
    if (merge.merges(dim))
      return {};
    for (int64_t own : merge.groups[dim])
      if (merge.shape()[own] != 1)
        dims.push_back(own);
    kept.push_back(graph::tensorType(spread.source).getDimSize(i));
  }
  if (!llvm::is_sorted(dims) || dims.size() != kept.size())
    return {};
  if (!rewriter)
    return value;
  Value bare = reshape(*rewriter, value.getLoc(), spread.source, kept);
  return broadcast(*rewriter, value.getLoc(), bare, merge.shape(), dims);
}

/// f(merge(x), ..) is merge(f(x, ..)).
struct SinkThroughElementwise : RewritePattern {
  SinkThroughElementwise(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<graph::Elementwise>() || op->getNumResults() != 1)
      return failure();
    std::optional<Merge> merge;
    for (Value operand : op->getOperands())
      if (!merge)
        merge = matchMerge(operand);
    if (!merge || !llvm::all_of(op->getOperands(), [&](Value operand) { return beforeMerge(operand, *merge, nullptr); }))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(beforeMerge(operand, *merge, &rewriter));
    auto type = graph::tensorType(op->getResult(0));
    OperationState state(op->getLoc(), op->getName(), operands, type.clone(merge->shape()), op->getAttrs());
    Value inner = rewriter.create(state)->getResult(0);
    rewriter.replaceOpWithNewOp<graph::ReshapeOp>(op, type, inner);
    return success();
  }
};

/// The finest sizes of which both lists are merged: [8, 4, 2] and [8, 8] are of [8, 8].
Shape commonSizes(Dims a, Dims b) {
  Shape sizes;
  int64_t left = 1, right = 1;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (j == b.size() || (i < a.size() && left <= right))
      left *= a[i++];
    else
      right *= b[j++];
    if (left == right) {
      sizes.push_back(left);
      left = right = 1;
    }
  }
  return left == 1 && right == 1 ? sizes : Shape();
}

/// A merged dimension becomes several letters where the other operand lacks it, or has it merged too.
LogicalResult sinkThroughEinsum(graph::EinsumOp op, PatternRewriter &rewriter) {
  auto spec = *graph::EinsumSpec::parse(op.getSpec());
  std::string unused;
  for (char letter = 'a'; letter <= 'z'; ++letter)
    if (!graph::EinsumSpec::has(spec.letters(), letter))
      unused += letter;
  std::array<std::optional<Merge>, 2> merges{matchMerge(op.getLhs()), matchMerge(op.getRhs())};
  std::array<std::string *, 2> letters{&spec.lhs, &spec.rhs};
  llvm::MapVector<char, std::pair<std::string, Shape>> splits;
  for (int side : {0, 1}) {
    if (!merges[side])
      continue;
    for (auto [dim, letter] : llvm::enumerate(*letters[side])) {
      if (!merges[side]->merges(dim) || splits.count(letter))
        continue;
      Shape sizes = merges[side]->sizes(dim);
      size_t other = letters[1 - side]->find(letter);
      if (other != std::string::npos)
        sizes = merges[1 - side] ? commonSizes(sizes, merges[1 - side]->sizes(other)) : Shape();
      if (sizes.size() < 2 || sizes.size() - 1 > unused.size())
        continue;
      splits[letter] = {letter + unused.substr(0, sizes.size() - 1), sizes};
      unused.erase(0, sizes.size() - 1);
    }
  }
  if (splits.empty())
    return failure();
  auto expand = [&](const std::string &text, Dims shape, Shape &newShape) {
    std::string expanded;
    for (auto [letter, size] : llvm::zip(text, shape)) {
      auto it = splits.find(letter);
      expanded += it == splits.end() ? std::string(1, letter) : it->second.first;
      if (it == splits.end())
        newShape.push_back(size);
      else
        llvm::append_range(newShape, it->second.second);
    }
    return expanded;
  };
  Shape lhsShape, rhsShape, resultShape;
  graph::EinsumSpec wide{expand(spec.lhs, op.getLhs().getType().getShape(), lhsShape),
                         expand(spec.rhs, op.getRhs().getType().getShape(), rhsShape),
                         expand(spec.result, op.getType().getShape(), resultShape)};
  Value lhs = reshape(rewriter, op.getLoc(), op.getLhs(), lhsShape), rhs = reshape(rewriter, op.getLoc(), op.getRhs(), rhsShape);
  Value product = rewriter.create<graph::EinsumOp>(op.getLoc(), op.getType().clone(resultShape), wide.str(), lhs, rhs);
  rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), product, op.getType().getShape()));
  return success();
}

LogicalResult sinkThroughReduce(graph::ReduceOp op, PatternRewriter &rewriter) {
  std::optional<Merge> merge = matchMerge(op.getOperand());
  if (!merge)
    return failure();
  Shape dims, kept;
  for (auto [dim, group] : llvm::enumerate(merge->groups))
    for (int64_t i : group)
      llvm::is_contained(op.getDims(), int64_t(dim)) ? dims.push_back(i) : kept.push_back(merge->shape()[i]);
  Value inner = rewriter.create<graph::ReduceOp>(op.getLoc(), op.getType().clone(kept), op.getKind(), merge->operand, dims);
  rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), inner, op.getType().getShape()));
  return success();
}

LogicalResult sinkThroughTranspose(graph::TransposeOp op, PatternRewriter &rewriter) {
  std::optional<Merge> merge = matchMerge(op.getOperand());
  if (!merge)
    return failure();
  Shape permutation;
  for (int64_t dim : op.getPermutation())
    llvm::append_range(permutation, merge->groups[dim]);
  Value inner = transpose(rewriter, op.getLoc(), merge->operand, permutation);
  rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), inner, op.getType().getShape()));
  return success();
}

LogicalResult sinkThroughBroadcast(graph::BroadcastOp op, PatternRewriter &rewriter) {
  std::optional<Merge> merge = matchMerge(op.getOperand());
  if (!merge)
    return failure();
  auto narrow = graph::tensorType(op.getOperand()).getShape(), wide = op.getType().getShape();
  Shape dims, shape;
  int64_t next = 0; // of the operand's dimensions
  for (int64_t dim = 0; dim < int64_t(wide.size()); ++dim) {
    int64_t own = next < int64_t(narrow.size()) && op.getDims()[next] == dim ? next++ : -1;
    if (own < 0 || merge->groups[own].empty() || narrow[own] != wide[dim]) {
      // New, or spread from size 1: the units behind a spread dimension go into it one by one.
      if (own >= 0 && merge->groups[own].size() > 1)
        return failure();
      if (own >= 0 && !merge->groups[own].empty())
        dims.push_back(shape.size());
      shape.push_back(wide[dim]);
      continue;
    }
    for (int64_t i : merge->groups[own]) {
      dims.push_back(shape.size());
      shape.push_back(merge->shape()[i]);
    }
  }
  Value inner = broadcast(rewriter, op.getLoc(), merge->operand, shape, dims);
  rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), inner, wide));
  return success();
}

/// A slice that leaves merged dimensions whole.
LogicalResult sinkThroughSlice(graph::SliceOp op, PatternRewriter &rewriter) {
  std::optional<Merge> merge = matchMerge(op.getOperand());
  if (!merge)
    return failure();
  Shape starts, limits, strides, shape;
  for (auto [dim, group] : llvm::enumerate(merge->groups)) {
    int64_t whole = graph::tensorType(op.getOperand()).getDimSize(dim);
    bool isWhole = op.getStarts()[dim] == 0 && op.getLimits()[dim] == whole && op.getStrides()[dim] == 1;
    if (!isWhole && merge->merges(dim))
      return failure();
    for (int64_t i : group) {
      bool cut = !isWhole && merge->shape()[i] == whole;
      starts.push_back(cut ? op.getStarts()[dim] : 0);
      limits.push_back(cut ? op.getLimits()[dim] : merge->shape()[i]);
      strides.push_back(cut ? op.getStrides()[dim] : 1);
      shape.push_back(cut ? op.getType().getDimSize(dim) : merge->shape()[i]);
    }
  }
  Value inner = rewriter.create<graph::SliceOp>(op.getLoc(), op.getType().clone(shape), merge->operand, starts, limits, strides);
  rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), inner, op.getType().getShape()));
  return success();
}

/// Rows of merged batch dimensions, or rows by ids that were merged.
LogicalResult sinkThroughGather(graph::GatherOp op, PatternRewriter &rewriter) {
  int64_t batch = op.getBatchDims(), axis = op.getAxis();
  auto resultShape = op.getType().getShape();
  if (std::optional<Merge> ids = matchMerge(op.getIds()); ids && batch == 0) {
    Shape shape(resultShape.take_front(axis));
    llvm::append_range(shape, ids->shape());
    llvm::append_range(shape, graph::tensorType(op.getOperand()).getShape().drop_front(axis + 1));
    Value inner = rewriter.create<graph::GatherOp>(op.getLoc(), op.getType().clone(shape), op.getOperand(), ids->operand, axis, batch);
    return rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), inner, resultShape)), success();
  }
  std::optional<Merge> rows = matchMerge(op.getOperand());
  if (!rows || batch == 0)
    return failure();
  Shape batchShape, operandShape;
  for (auto [dim, group] : llvm::enumerate(rows->groups)) {
    if (int64_t(dim) >= batch && rows->merges(dim))
      return failure();
    Shape sizes = int64_t(dim) < batch ? rows->sizes(dim) : Shape{graph::tensorType(op.getOperand()).getDimSize(dim)};
    llvm::append_range(operandShape, sizes);
    if (int64_t(dim) < batch)
      llvm::append_range(batchShape, sizes);
  }
  Shape idsShape(batchShape), shape(batchShape);
  llvm::append_range(idsShape, op.getIds().getType().getShape().drop_front(batch));
  llvm::append_range(shape, resultShape.drop_front(batch));
  int64_t more = batchShape.size() - batch;
  Value operand = reshape(rewriter, op.getLoc(), op.getOperand(), operandShape), ids = reshape(rewriter, op.getLoc(), op.getIds(), idsShape);
  Value inner = rewriter.create<graph::GatherOp>(op.getLoc(), op.getType().clone(shape), operand, ids, axis + more, batch + more);
  return rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), inner, resultShape)), success();
}

} // namespace

void p3d::import::addReshapeSimplifications(RewritePatternSet &patterns) {
  patterns.add<SinkThroughElementwise>(patterns.getContext());
  addRewrite<graph::EinsumOp>(patterns, sinkThroughEinsum);
  addRewrite<graph::BroadcastOp>(patterns, sinkThroughBroadcast);
  addRewrite<graph::ReduceOp>(patterns, sinkThroughReduce);
  addRewrite<graph::TransposeOp>(patterns, sinkThroughTranspose);
  addRewrite<graph::SliceOp>(patterns, sinkThroughSlice);
  addRewrite<graph::GatherOp>(patterns, sinkThroughGather);
}
