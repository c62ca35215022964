#include "passes/Partition/ExpandReshard.h"

using namespace mlir;
using namespace p3d;

namespace {
/// Carries a local value from sharding to sharding, one axis at a time.
class Mover {
public:
  Mover(OpBuilder &builder, dist::ReshardOp op, Value value, ArrayRef<int64_t> global, dist::MeshAttr mesh)
      : builder(builder), op(op), value(value), global(global), mesh(mesh) {}

  LogicalResult moveTp() {
    dist::ShardingAttr from = op.getFrom(), to = op.getTo();
    int oldDim = from.dimOf(dist::Axis::TP), newDim = to.dimOf(dist::Axis::TP);
    bool wasPartial = from.isUnreduced(dist::Axis::TP), isPartial = to.isUnreduced(dist::Axis::TP);
    if (isPartial && !wasPartial)
      return op.emitOpError() << "would make a complete value partial over tp";
    if (wasPartial && !isPartial) {
      if (newDim < 0)
        allReduce(dist::Axis::TP);
      else
        reduceScatter(newDim, to.getDims()[newDim].chunk);
    } else if (oldDim >= 0 && newDim >= 0 && (oldDim != newDim)) {
      allToAll(oldDim, newDim, to.getDims()[newDim].chunk);
    } else if (oldDim >= 0 && newDim < 0) {
      allGather(oldDim);
    } else if (oldDim < 0 && newDim >= 0) {
      shardSlice(newDim, dist::Axis::TP, to.getDims()[newDim].chunk);
    }
    return success();
  }

  LogicalResult moveBatch(dist::Axis axis) {
    dist::ShardingAttr from = op.getFrom(), to = op.getTo();
    int oldDim = from.dimOf(axis), newDim = to.dimOf(axis);
    if (from.isUnreduced(axis) && !to.isUnreduced(axis)) {
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
  RankedTensorType type() const { return cast<RankedTensorType>(value.getType()); }
  RankedTensorType resized(RankedTensorType old, int dim, int64_t size) const {
    SmallVector<int64_t> shape(old.getShape());
    shape[dim] = size;
    return old.clone(shape);
  }
  auto axisAttr(dist::Axis axis) const { return dist::AxisAttr::get(builder.getContext(), axis); }
  auto kindAttr() { return dist::ReduceKindAttr::get(builder.getContext(), op.getFrom().getReduce()); }
  auto dimAttr(int dim) const { return builder.getI64IntegerAttr(dim); }

  void allReduce(dist::Axis axis) {
    value = builder.create<dist::AllReduceOp>(op.getLoc(), type(), kindAttr(), value, axisAttr(axis), op.getReasonAttr());
  }
  void reduceScatter(int dim, int64_t chunk) {
    value = builder.create<dist::ReduceScatterOp>(op.getLoc(), resized(type(), dim, chunk), kindAttr(), value, dimAttr(dim),
                                                  axisAttr(dist::Axis::TP), op.getReasonAttr());
  }
  void allGather(int dim) {
    value = builder.create<dist::AllGatherOp>(op.getLoc(), resized(type(), dim, global[dim]), value, dimAttr(dim),
                                              axisAttr(dist::Axis::TP), op.getReasonAttr());
  }
  void allToAll(int from, int to, int64_t chunk) {
    auto moved = resized(resized(type(), from, global[from]), to, chunk);
    value = builder.create<dist::AllToAllOp>(op.getLoc(), moved, value, dimAttr(from), dimAttr(to), axisAttr(dist::Axis::TP),
                                             op.getReasonAttr());
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
