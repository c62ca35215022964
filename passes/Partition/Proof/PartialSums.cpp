// Partial values pass through what is linear in them.
#include "dialects/Graph/FactorRules.h"
#include "passes/Partition/Proof/OpTyping.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::partition;
using namespace p3d::partition::proof;

namespace {
/// Places elements elsewhere, whatever they are: may be done before any reduction.
bool isMovement(Operation *op) {
  return isa<graph::BroadcastOp, graph::ReshapeOp, graph::TransposeOp, graph::SliceOp, graph::ReverseOp>(op);
}

class AxisCheck {
public:
  AxisCheck(Operation *op, OperandTypes operands, dist::Axis axis) : op(op), operands(operands), axis(axis) {
    for (auto [o, type] : llvm::enumerate(operands))
      if (type->partialOver(axis))
        partial.push_back(o);
  }

  LogicalResult run(ValueType &result) {
    if (partial.empty())
      return success();
    dist::ReduceKind kind = *operands[partial.front()]->partialOver(axis);
    graph::Linearity linearity = graph::getLinearity(op);
    for (unsigned o : partial) {
      if (operands[o]->partialOver(axis) != kind)
        return refuse(o) << "combines a partial " << dist::stringifyReduceKind(kind) << " over " << name()
                         << " with a partial " << dist::stringifyReduceKind(*operands[o]->partialOver(axis))
                         << "; complete both before";
      bool isLinear = linearity.kind != graph::Linearity::None && llvm::is_contained(linearity.operands, o);
      if (!isLinear || (kind != dist::ReduceKind::Sum && !isMovement(op)))
        return refuse(o)
               << "needs operand " << o << " complete over " << name() << ", which is a partial "
               << dist::stringifyReduceKind(kind)
               << ": it does not commute with that; complete it before by dist.all_reduce or dist.reduce_scatter";
    }
    for (auto [o, type] : llvm::enumerate(operands))
      if (type->dimOf(axis) >= 0)
        return refuse(o)
               << "combines operand " << partial.front() << ", a partial sum over " << name() << ", with operand " << o
               << ", cut over it: each rank has its part of the sum for its rows only; complete the sum before";
    if (linearity.kind == graph::Linearity::Each && partial.size() > 1)
      return refuse(partial[1]) << "multiplies two partial sums over " << name()
                                << ": the product of sums is not the sum of products; complete one before";
    if (linearity.kind == graph::Linearity::Joint)
      for (unsigned o : linearity.operands)
        if (!operands[o]->partialOver(axis))
          return refuse(o) << "adds operand " << o << ", complete over " << name() << ", to operand " << partial.front()
                           << ", a partial sum: it would count once for each rank; complete the sum before";
    result.partialOver(axis) = kind;
    return success();
  }

private:
  StringRef name() const { return dist::stringifyAxis(axis); }
  InFlightDiagnostic refuse(unsigned operand) {
    InFlightDiagnostic error = op->emitOpError();
    noteOperand(error, op, partial.front(), *operands[partial.front()]);
    if (operand != partial.front())
      noteOperand(error, op, operand, *operands[operand]);
    return error;
  }

  Operation *op;
  OperandTypes operands;
  dist::Axis axis;
  SmallVector<unsigned> partial;
};
} // namespace

LogicalResult proof::passPartial(Operation *op, OperandTypes operands, ValueType &result) {
  for (dist::Axis axis : kAxes)
    if (failed(AxisCheck(op, operands, axis).run(result)))
      return failure();
  return success();
}
