// Collectives, slices and masks: what each does to the parts that ranks hold.
#include "passes/Partition/Proof/OpTyping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::partition;
using namespace p3d::partition::proof;
using graph::tensorType;

namespace {
class MovementTyper {
public:
  MovementTyper(Operation *op, const ValueType &operand, dist::MeshAttr mesh)
      : op(op), type(operand), operand(operand), mesh(mesh) {}

  FailureOr<ValueTypes> run() {
    LogicalResult typed =
        TypeSwitch<Operation *, LogicalResult>(op)
            .Case([&](dist::AllReduceOp op) {
              keepPaddingIn(op.getKind());
              return complete(op.getAxis(), op.getKind());
            })
            .Case([&](dist::AllGatherOp op) { return gather(op.getDim(), op.getAxis()); })
            .Case([&](dist::ReduceScatterOp op) {
              keepPaddingIn(op.getKind());
              return failed(complete(op.getAxis(), op.getKind())) ? failure() : slice(op.getDim(), op.getAxis());
            })
            .Case([&](dist::AllToAllOp op) {
              return failed(gather(op.getGatherDim(), op.getAxis())) ? failure()
                                                                     : slice(op.getSplitDim(), op.getAxis());
            })
            .Case([&](dist::ShardSliceOp op) { return slice(op.getDim(), op.getAxis()); })
            .Case([&](dist::MaskPaddingOp op) { return mask(op.getShard(), op.getValue().convertToDouble()); })
            .Default([](Operation *op) { return op->emitOpError() << "is left after partitioning"; });
    if (failed(typed) || failed(checkShape()))
      return failure();
    return ValueTypes{type};
  }

private:
  RankedTensorType resultType() const { return tensorType(op->getResult(0)); }

  InFlightDiagnostic refuse() {
    InFlightDiagnostic error = op->emitOpError();
    noteOperand(error, op, 0, operand);
    return error;
  }

  bool hasDim(int64_t dim) const { return dim >= 0 && dim < int64_t(type.dims.size()); }
  LogicalResult noDim(int64_t dim) {
    return refuse() << "moves dimension " << dim << " of a tensor that has " << type.dims.size()
                    << "; name one of these";
  }

  /// Ranks of tp and dp run side by side; microbatches run one after the other, and stages do other work.
  LogicalResult checkCollective(dist::Axis axis) {
    if (axis != dist::Axis::PP && axis != dist::Axis::MB)
      return success();
    return refuse() << "communicates over " << dist::stringifyAxis(axis)
                    << ", whose members do not run this op side by side; use tp or dp";
  }

  LogicalResult complete(dist::Axis axis, dist::ReduceKind kind) {
    if (failed(checkCollective(axis)))
      return failure();
    for (dist::Axis part : axesInTypes(axis, mesh))
      if (failed(completePart(part, kind)))
        return failure();
    return success();
  }

  LogicalResult completePart(dist::Axis axis, dist::ReduceKind kind) {
    std::optional<dist::ReduceKind> &partial = type.partialOver(axis);
    if (!partial)
      return refuse()
             << "reduces over " << dist::stringifyAxis(axis) << " what is no partial "
             << dist::stringifyReduceKind(kind)
             << " over it, so that it is combined once too often; leave it out, or name the axis that left parts";
    if (*partial != kind)
      return refuse() << "combines by " << dist::stringifyReduceKind(kind) << " a partial "
                      << dist::stringifyReduceKind(*partial) << "; use the latter";
    partial.reset();
    return success();
  }

  /// Padding of a reduced value: sums of zeros are zero, an extreme of equals is that.
  void keepPaddingIn(dist::ReduceKind kind) {
    bool isIdempotent = kind != dist::ReduceKind::Sum && kind != dist::ReduceKind::Prod;
    for (DimType &dim : type.dims)
      if (!isIdempotent && dim.padding && *dim.padding != 0)
        dim.padding.reset();
  }

  LogicalResult gather(int64_t dim, dist::Axis axis) {
    if (failed(checkCollective(axis)))
      return failure();
    if (!hasDim(dim))
      return noDim(dim);
    DimType &cut = type.dims[dim];
    SmallVector<dist::Axis, 2> parts = axesInTypes(axis, mesh);
    if (!cut.isCut() || ArrayRef<dist::Axis>(cut.axes).take_back(parts.size()) != ArrayRef<dist::Axis>(parts))
      return refuse() << "gathers dimension " << dim << " over " << dist::stringifyAxis(axis) << ", but it is "
                      << describe(cut)
                      << (cut.isCutBy(parts.front()) ? "; gather the last of its axes first"
                                                     : "; gather a dimension that the axis cuts");
    cut.axes.pop_back_n(parts.size());
    cut.chunk = cut.axes.empty() ? cut.full : cut.chunk * mesh.getSize(axis);
    if (cut.axes.empty())
      cut.padding.reset();
    return success();
  }

  LogicalResult slice(int64_t dim, dist::Axis axis) {
    if (axis == dist::Axis::PP)
      return checkCollective(axis);
    if (!hasDim(dim))
      return noDim(dim);
    SmallVector<dist::Axis, 2> parts = axesInTypes(axis, mesh);
    if (llvm::any_of(parts, [&](dist::Axis part) { return type.variesOver(part); }))
      return refuse()
             << "takes a shard over " << dist::stringifyAxis(axis)
             << " of what each rank has another part of already; complete or gather it first, or leave the slice out";
    DimType &cut = type.dims[dim];
    int64_t rows = resultType().getDimSize(dim), before = cut.chunk;
    bool wasCut = cut.isCut();
    cut.axes.append(parts);
    cut.chunk = rows;
    if (wasCut ? rows * mesh.getSize(axis) != before : rows * mesh.getSize(axis) < before)
      return refuse() << "cuts " << before << " rows into " << mesh.getSize(axis) << " shards of " << rows
                      << ", which do not " << (wasCut ? "divide" : "cover") << " them; mend the type of the result";
    cut.padding = 0;
    return success();
  }

  LogicalResult mask(dist::ShardAttr shard, double value) {
    if (!hasDim(shard.getDim()))
      return noDim(shard.getDim());
    DimType &dim = type.dims[shard.getDim()];
    if (keepsOnFirst(shard, value))
      return becomePart(shard);
    DimType masked = declaredDim(shard, mesh);
    if (!masked.liesAs(dim))
      return refuse() << "masks dimension " << shard.getDim() << " as if it were " << describe(masked) << ", but it is "
                      << describe(dim) << "; say the latter";
    // Parts of a sum that are not zero would add up.
    bool isPartial = llvm::any_of(type.partial, [](auto kind) { return kind.has_value(); });
    dim.padding = isPartial && value != 0 ? std::nullopt : std::optional<double>(value);
    return success();
  }

  /// Whether all rows of every shard but the first lie beyond the end, of a value that the axes have alike: they are then zero.
  bool keepsOnFirst(dist::ShardAttr shard, double value) {
    int64_t rows = type.dims[shard.getDim()].chunk;
    return value == 0 && shard.getChunk() == rows && shard.getFull() == rows &&
           llvm::none_of(axesInTypes(shard.getAxes(), mesh), [&](dist::Axis axis) { return type.variesOver(axis); });
  }

  /// The first has the value and the others zeros: parts that add up to it.
  LogicalResult becomePart(dist::ShardAttr shard) {
    for (dist::Axis axis : axesInTypes(shard.getAxes(), mesh))
      type.partialOver(axis) = dist::ReduceKind::Sum;
    for (DimType &dim : type.dims)
      if (dim.padding && *dim.padding != 0)
        dim.padding.reset();
    return success();
  }

  LogicalResult checkShape() {
    for (auto [d, dim] : llvm::enumerate(type.dims))
      if (dim.chunk != resultType().getDimSize(d))
        return refuse() << "makes dimension " << d << " " << describe(dim) << ", but its result has "
                        << resultType().getDimSize(d) << " rows; mend the type of the result";
    return success();
  }

  Operation *op;
  ValueType type;
  const ValueType &operand;
  dist::MeshAttr mesh;
};
} // namespace

FailureOr<ValueTypes> proof::typeMovement(Operation *op, const ValueType &operand, dist::MeshAttr mesh) {
  return MovementTyper(op, operand, mesh).run();
}
