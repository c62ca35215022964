// The collectives of dist as commands.
#include "passes/Memory/RegionBufferizer.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
exec::GroupAttr groupOf(OpBuilder &builder, dist::Axis axis) {
  switch (axis) {
  case dist::Axis::TP:
    return exec::GroupAttr::get(builder.getContext(), exec::Group::TP);
  case dist::Axis::DP:
    return exec::GroupAttr::get(builder.getContext(), exec::Group::DP);
  case dist::Axis::PP:
    return exec::GroupAttr::get(builder.getContext(), exec::Group::PP);
  case dist::Axis::TPMajor:
    return exec::GroupAttr::get(builder.getContext(), exec::Group::TPMajor);
  case dist::Axis::TPMinor:
    return exec::GroupAttr::get(builder.getContext(), exec::Group::TPMinor);
  case dist::Axis::MB:
    return {};
  }
  llvm_unreachable("an axis outside the enumeration");
}

struct Emitter {
  RegionBufferizer &region;
  Operation *op;

  TypeAttr dtype() { return TypeAttr::get(graph::tensorType(op->getResult(0)).getElementType()); }
  Value in() { return region.memory(op->getOperand(0)); }

  LogicalResult emit(dist::AllReduceOp reduce, exec::GroupAttr group) {
    Value operand = reduce.getOperand(), result = reduce.getResult();
    if (region.reusesOperand(result))
      region.bind(result, in());
    else if (failed(region.store(op->getLoc(), operand, region.allocate(result), dtype().getValue(), Store::Set)))
      return failure();
    region.builder.create<exec::AllReduceOp>(op->getLoc(), reduce.getKindAttr(), region.memory(result), group,
                                             region.builder.getI64IntegerAttr(0), dtype(), reduce.getReasonAttr());
    return success();
  }
  LogicalResult emit(dist::AllGatherOp gather, exec::GroupAttr group) {
    region.builder.create<exec::AllGatherOp>(op->getLoc(), in(), region.allocate(gather.getResult()), gather.getDim(),
                                             group.getValue(), dtype().getValue(), gather.getReason());
    return success();
  }
  LogicalResult emit(dist::ReduceScatterOp scatter, exec::GroupAttr group) {
    region.builder.create<exec::ReduceScatterOp>(op->getLoc(), scatter.getKind(), in(),
                                                 region.allocate(scatter.getResult()), scatter.getDim(),
                                                 group.getValue(), dtype().getValue(), scatter.getReason());
    return success();
  }
  LogicalResult emit(dist::AllToAllOp exchange, exec::GroupAttr group) {
    auto from = graph::tensorType(exchange.getOperand()), to = graph::tensorType(exchange.getResult());
    SmallVector<int64_t> shape(from.getShape());
    shape[exchange.getGatherDim()] = to.getDimSize(exchange.getGatherDim());
    region.builder.create<exec::AllToAllOp>(op->getLoc(), in(), region.allocate(exchange.getResult()), shape,
                                            exchange.getGatherDim(), exchange.getSplitDim(), group.getValue(),
                                            dtype().getValue(), exchange.getReason());
    return success();
  }
};
} // namespace

FailureOr<bool> p3d::memory::bufferizeCollective(RegionBufferizer &region, Operation *op) {
  return TypeSwitch<Operation *, FailureOr<bool>>(op)
      .Case<dist::AllReduceOp, dist::AllGatherOp, dist::ReduceScatterOp, dist::AllToAllOp>(
          [&](auto collective) -> FailureOr<bool> {
            exec::GroupAttr group = groupOf(region.builder, collective.getAxis());
            if (!group)
              return op->emitOpError() << "is over mb, which is an axis in time; microbatches are combined by pipe.accumulate";
            if (failed(Emitter{region, op}.emit(collective, group)))
              return failure();
            return true;
          })
      .Default([](Operation *) { return false; });
}
