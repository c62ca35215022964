// Moves slices of a result onto the operands it is computed from: q = (x w + b)[:, 0:d] becomes x w[:, 0:d] + b[0:d]. Only where the slices
// are all uses of the result and cover it, so that nothing is computed twice.
#include "dialects/Graph/EinsumSpec.h"
#include "passes/Import/Passes.h"
#include "passes/Import/SliceDims.h"
#include "passes/Import/Translation.h"
#include <numeric>

namespace p3d {
#define GEN_PASS_DEF_SINKSLICES
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::import;

namespace {

/// A range of one dimension.
struct Range {
  int64_t dim, start, size;
};

/// The range of a reshape's operand that is the range of its result: a whole group of dimensions around it has to be cut at its major one.
std::optional<Range> throughReshape(graph::ReshapeOp op, Range range) {
  auto from = graph::tensorType(op.getOperand()).getShape(), to = op.getType().getShape();
  auto product = [](Dims sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>());
  };
  // The elements before and behind one index of the result's dimension, and the operand's dimension at the same boundary.
  int64_t before = product(to.take_front(range.dim)), behind = product(to.drop_front(range.dim + 1));
  int64_t seen = 1;
  for (auto [dim, size] : llvm::enumerate(from)) {
    if (seen == before && size != 1) {
      int64_t inner = product(from.drop_front(dim + 1));
      if ((range.start * behind) % inner || (range.size * behind) % inner || (to[range.dim] * behind) % inner ||
          to[range.dim] * behind > size * inner || (to[range.dim] * behind) != size * inner)
        return std::nullopt;
      return Range{int64_t(dim), range.start * behind / inner, range.size * behind / inner};
    }
    seen *= size;
  }
  return std::nullopt;
}

class SliceSinker {
public:
  /// Whether the producer of `value` can be computed piece by piece along `dim`, down to parameters or constants. `range` is any one of the pieces.
  bool canSink(Value value, Range range, bool isRoot) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return !isRoot && value.hasOneUse();
    if (auto constant = dyn_cast<graph::ConstantOp>(op))
      return constant.getValue().isSplat();
    if (!isRoot && !value.hasOneUse())
      return false;
    bool reaches = false;
    for (auto [operand, part] : llvm::zip(op->getOperands(), operandRanges(op, range))) {
      if (!part.known)
        return false;
      if (!part.range)
        continue;
      if (!canSink(operand, *part.range, false))
        return false;
      reaches = true;
    }
    return reaches;
  }

  /// The piece of `value`, computed from pieces of its operands.
  Value sink(OpBuilder &builder, Value value, Range range) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return sliceDim(builder, value.getLoc(), value, range.dim, range.start, range.size);
    SmallVector<int64_t> shape(graph::tensorType(value).getShape());
    shape[range.dim] = range.size;
    auto type = graph::tensorType(value).clone(shape);
    if (auto constant = dyn_cast<graph::ConstantOp>(op))
      return builder.create<graph::ConstantOp>(
          op->getLoc(), type, cast<ElementsAttr>(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type)));
    SmallVector<Value> operands;
    for (auto [operand, part] : llvm::zip(op->getOperands(), operandRanges(op, range)))
      operands.push_back(part.range ? sink(builder, operand, *part.range) : operand);
    OperationState state(op->getLoc(), op->getName(), operands, type, op->getAttrs());
    return builder.create(state)->getResult(0);
  }

private:
  /// What a range of the result takes of one operand: a range, or all of it; not known where the operation does not allow it.
  struct Part {
    bool known = false;
    std::optional<Range> range;
  };

  SmallVector<Part> operandRanges(Operation *op, Range range) {
    SmallVector<Part> parts(op->getNumOperands());
    if (op->hasTrait<graph::Elementwise>()) {
      for (Part &part : parts)
        part = {true, range};
    } else if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
      auto it = llvm::find(broadcast.getDims(), range.dim);
      int64_t dim = it - broadcast.getDims().begin();
      bool carries = it != broadcast.getDims().end() && graph::tensorType(broadcast.getOperand()).getDimSize(dim) != 1;
      parts[0] = {true, carries ? std::optional(Range{dim, range.start, range.size}) : std::nullopt};
    } else if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
      parts[0] = {true, Range{transpose.getPermutation()[range.dim], range.start, range.size}};
    } else if (auto einsum = dyn_cast<graph::EinsumOp>(op)) {
      auto spec = graph::EinsumSpec::parse(einsum.getSpec());
      for (auto [part, letters] : llvm::zip(parts, std::array{spec->lhs, spec->rhs})) {
        size_t dim = letters.find(spec->result[range.dim]);
        part = {true, dim == std::string::npos ? std::nullopt : std::optional(Range{int64_t(dim), range.start, range.size})};
      }
    } else if (auto reshape = dyn_cast<graph::ReshapeOp>(op)) {
      std::optional<Range> through = throughReshape(reshape, range);
      parts[0] = {through.has_value(), through};
    }
    return parts;
  }
};

struct SinkSlicesPass : p3d::impl::SinkSlicesBase<SinkSlicesPass> {
  void runOnOperation() override {
    Block &body = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (op.getNumResults() == 1)
        sinkSlicesOf(op.getResult(0));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  static void sinkSlicesOf(Value value) {
    std::optional<Pieces> pieces = findPieces(value);
    if (!pieces || pieces->starts.size() < 2)
      return;
    SliceSinker sinker;
    auto rangeOf = [&](size_t i) {
      return Range{pieces->dim, pieces->starts[i], pieces->sizeOf(i, graph::tensorType(value).getDimSize(pieces->dim))};
    };
    auto all = llvm::seq<size_t>(0, pieces->starts.size());
    if (!llvm::all_of(all, [&](size_t i) { return sinker.canSink(value, rangeOf(i), true); }))
      return;
    OpBuilder builder(value.getDefiningOp());
    SmallVector<Value> parts;
    for (size_t i : all)
      parts.push_back(sinker.sink(builder, value, rangeOf(i)));
    for (graph::SliceOp slice : pieces->slices) {
      slice.replaceAllUsesWith(parts[pieces->indexOf(slice)]);
      slice.erase();
    }
  }
};

} // namespace
