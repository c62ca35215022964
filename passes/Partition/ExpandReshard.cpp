#include "passes/Partition/ExpandReshard.h"
#include "dialects/Graph/GraphOps.h"
#include "passes/Support/Reason.h"

using namespace mlir;
using namespace p3d;

namespace {
/// Carries a local value from sharding to sharding, one axis at a time.
class Mover {
public:
  Mover(OpBuilder &builder, dist::ReshardOp op, Value value, ArrayRef<int64_t> global, dist::MeshAttr mesh)
      : builder(builder), op(op), value(value), global(global), mesh(mesh) {}

  LogicalResult moveTp() {
    for (dist::Axis part : {dist::Axis::TPMajor, dist::Axis::TPMinor})
      if (op.getTo().isUnreduced(part) && !op.getFrom().isUnreduced(part))
        return op.emitOpError() << "would make a complete value partial over tp";
    Part from(op.getFrom(), dist::Axis::TP), to(op.getTo(), dist::Axis::TP);
    if (isUniform(op.getFrom()) && isUniform(op.getTo()))
      moveOver(dist::Axis::TP, from, to, to.dim < 0 ? 0 : chunkOf(op.getTo(), to.dim));
    else
      moveOverParts(from);
    return success();
  }

  LogicalResult moveBatch(dist::Axis axis) {
    dist::ShardingAttr from = op.getFrom(), to = op.getTo();
    int oldDim = from.dimOf(axis), newDim = to.dimOf(axis);
    if (!from.isUnreduced(axis) && to.isUnreduced(axis)) {
      keepOnFirst(axis);
    } else if (from.isUnreduced(axis) && !to.isUnreduced(axis)) {
      if (axis == dist::Axis::MB)
        return op.emitOpError() << "would complete a sum over microbatches before the last of them";
      allReduce(axis);
    } else if (oldDim != newDim && oldDim >= 0) {
      return op.emitOpError() << "would gather the batch over " << stringifyAxis(axis);
    } else if (oldDim < 0 && newDim >= 0) {
      const dist::DimSharding &dim = to.getDims()[newDim];
      bool microbatchesFollow = axis == dist::Axis::DP && llvm::is_contained(dim.axes, dist::Axis::MB);
      shardSlice(newDim, axis, microbatchesFollow ? dim.chunk * mesh.getMb() : dim.chunk);
    }
    return success();
  }

  Value result() const { return value; }

private:
  /// How a value lies over one axis.
  struct Part {
    int dim;
    bool isPartial;
    Part(dist::ShardingAttr sharding, dist::Axis axis) : dim(sharding.dimOf(axis)), isPartial(sharding.isUnreduced(axis)) {}
  };

  static int64_t chunkOf(dist::ShardingAttr sharding, int dim) { return sharding.getDims()[dim].chunk; }

  /// Whether a value lies over tp_major as over tp_minor.
  static bool isUniform(dist::ShardingAttr sharding) {
    Part major(sharding, dist::Axis::TPMajor), minor(sharding, dist::Axis::TPMinor);
    return major.dim == minor.dim && major.isPartial == minor.isPartial;
  }

  void moveOver(dist::Axis axis, Part from, Part to, int64_t chunk) {
    if (from.isPartial && !to.isPartial) {
      if (to.dim < 0)
        allReduce(axis);
      else
        reduceScatter(to.dim, axis, chunk);
    } else if (from.dim >= 0 && to.dim >= 0 && from.dim != to.dim) {
      allToAll(from.dim, to.dim, axis, chunk);
    } else if (from.dim >= 0 && to.dim < 0) {
      allGather(from.dim, axis, std::min(global[from.dim], type().getDimSize(from.dim) * mesh.getSize(axis)));
    } else if (from.dim < 0 && to.dim >= 0) {
      shardSlice(to.dim, axis, chunk);
    }
  }

  /// tp_minor cuts what tp_major has cut: its parts are given up first, and taken last.
  void moveOverParts(Part whole) {
    dist::ShardingAttr to = op.getTo();
    Part major(op.getFrom(), dist::Axis::TPMajor), minor(op.getFrom(), dist::Axis::TPMinor);
    Part newMajor(to, dist::Axis::TPMajor), newMinor(to, dist::Axis::TPMinor);
    if (whole.dim >= 0 && whole.dim != newMajor.dim) {
      allGather(whole.dim, dist::Axis::TP, global[whole.dim]);
      major.dim = minor.dim = -1;
    }
    Part given = newMinor;
    given.dim = newMinor.dim == minor.dim ? minor.dim : -1;
    moveOver(dist::Axis::TPMinor, minor, given, 0);
    int64_t minorRanks = newMinor.dim < 0 ? 1 : mesh.getSize(dist::Axis::TPMinor);
    moveOver(dist::Axis::TPMajor, major, newMajor, newMajor.dim < 0 ? 0 : chunkOf(to, newMajor.dim) * minorRanks);
    moveOver(dist::Axis::TPMinor, given, newMinor, newMinor.dim < 0 ? 0 : chunkOf(to, newMinor.dim));
  }

  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  RankedTensorType resized(RankedTensorType old, int dim, int64_t size) const {
    SmallVector<int64_t> shape(old.getShape());
    shape[dim] = size;
    return old.clone(shape);
  }
  auto axisAttr(dist::Axis axis) const { return dist::AxisAttr::get(builder.getContext(), axis); }
  auto kindAttr() { return dist::ReduceKindAttr::get(builder.getContext(), op.getFrom().getReduce()); }
  auto dimAttr(int dim) const { return builder.getI64IntegerAttr(dim); }

  /// A collective keeps what the reshard says of it.
  Value explained(Operation *collective) {
    copyReason(op, collective);
    return collective->getResult(0);
  }

  /// A complete value becomes a partial one: the first on the axis has it, the others zeros, as if they stood beyond its end.
  void keepOnFirst(dist::Axis axis) {
    RankedTensorType whole = type();
    auto reshape = [&](RankedTensorType to) { return to == type() ? value : builder.create<graph::ReshapeOp>(op.getLoc(), to, value).getResult(); };
    value = reshape(whole.getRank() ? whole : whole.clone({int64_t(1)}));
    int64_t rows = type().getDimSize(0);
    auto shard = dist::ShardAttr::get(builder.getContext(), /*dim=*/0, axis, /*chunk=*/rows, /*full=*/rows);
    value = builder.create<dist::MaskPaddingOp>(op.getLoc(), type(), value, shard, builder.getF64FloatAttr(0));
    value = reshape(whole);
  }

  void allReduce(dist::Axis axis) {
    value = explained(builder.create<dist::AllReduceOp>(op.getLoc(), type(), kindAttr(), value, axisAttr(axis), op.getReasonAttr()));
  }
  void reduceScatter(int dim, dist::Axis axis, int64_t chunk) {
    value = explained(builder.create<dist::ReduceScatterOp>(op.getLoc(), resized(type(), dim, chunk), kindAttr(), value, dimAttr(dim),
                                                  axisAttr(axis), op.getReasonAttr()));
  }
  void allGather(int dim, dist::Axis axis, int64_t size) {
    value = explained(builder.create<dist::AllGatherOp>(op.getLoc(), resized(type(), dim, size), value, dimAttr(dim), axisAttr(axis), op.getReasonAttr()));
  }
  void allToAll(int from, int to, dist::Axis axis, int64_t chunk) {
    auto moved = resized(resized(type(), from, global[from]), to, chunk);
    value = explained(builder.create<dist::AllToAllOp>(op.getLoc(), moved, value, dimAttr(from), dimAttr(to), axisAttr(axis), op.getReasonAttr()));
  }
  void shardSlice(int dim, dist::Axis axis, int64_t chunk) {
    value = builder.create<dist::ShardSliceOp>(op.getLoc(), resized(type(), dim, chunk), value, dimAttr(dim), axisAttr(axis));
  }

  OpBuilder &builder;
  dist::ReshardOp op;
  Value value;
  ArrayRef<int64_t> global;
  dist::MeshAttr mesh;
};
} // namespace

FailureOr<Value> p3d::partition::expandReshard(OpBuilder &builder, dist::ReshardOp reshard, Value value,
                                               ArrayRef<int64_t> global, dist::MeshAttr mesh) {
  Mover mover(builder, reshard, value, global, mesh);
  if (failed(mover.moveTp()) || failed(mover.moveBatch(dist::Axis::DP)) || failed(mover.moveBatch(dist::Axis::MB)))
    return failure();
  return mover.result();
}
