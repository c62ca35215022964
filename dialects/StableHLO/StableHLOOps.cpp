// The generated definitions of the operations, folders, and the verifiers: they hold what printers and readers of the
// operations rely on, so that malformed text is refused instead of crashing one of them.
#include "dialects/StableHLO/StableHLOAssembly.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace p3d::stablehlo {

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) { return parseConstant(parser, result); }
void ConstantOp::print(OpAsmPrinter &printer) { printConstant(printer, *this, getValue()); }
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult SliceOp::verify() {
  size_t rank = getOperand().getType().getRank();
  if (getStartIndices().size() != rank || getLimitIndices().size() != rank || getStrides().size() != rank)
    return emitOpError("expects a start, a limit and a stride for each of ")
           << rank << " dimensions, found " << getStartIndices().size() << ", " << getLimitIndices().size() << " and "
           << getStrides().size();
  return success();
}

LogicalResult ConvolutionOp::verify() {
  std::optional<DenseIntElementsAttr> padding = getPadding();
  if (!padding)
    return success();
  ArrayRef<int64_t> shape = padding->getType().getShape();
  if (shape.size() != 2 || shape[1] != 2)
    return emitOpError("expects padding of shape Nx2, found ") << padding->getType();
  return success();
}

/// The region of a reduction takes `values` accumulators, then as many elements.
static LogicalResult verifyReducer(Operation *op, size_t inputs, size_t inits) {
  if (inputs == 0 || inputs != inits)
    return op->emitOpError("expects as many initial values as inputs and at least one, found ")
           << op->getNumOperands() << " operands";
  size_t arguments = op->getRegion(0).getNumArguments();
  if (arguments != 2 * inputs)
    return op->emitOpError("expects a region of ") << 2 * inputs << " arguments, found " << arguments;
  if (op->getNumResults() != inputs)
    return op->emitOpError("expects ") << inputs << " results, found " << op->getNumResults();
  return success();
}

LogicalResult ReduceOp::verify() {
  // An odd count is split into halves of the same size by the accessors; count the operands themselves.
  size_t operands = (*this)->getNumOperands();
  return verifyReducer(*this, operands / 2, operands - operands / 2);
}

LogicalResult ReduceWindowOp::verify() {
  size_t operands = (*this)->getNumOperands();
  return verifyReducer(*this, operands / 2, operands - operands / 2);
}

LogicalResult ScatterOp::verify() {
  if ((*this)->getNumOperands() % 2 == 0)
    return emitOpError("expects inputs, indices, and as many updates as inputs, found ")
           << (*this)->getNumOperands() << " operands";
  return verifyReducer(*this, getInputs().size(), getUpdates().size());
}

/// Refuses `found`, which `what` names, unless they are the types of the operands of `op`.
static LogicalResult verifyOperandTypes(Operation *op, TypeRange found, StringRef what) {
  TypeRange expected = op->getOperandTypes();
  if (found == expected)
    return success();
  return op->emitOpError("expects ") << what << " of the types of its operands (" << expected << "), found (" << found
                                     << ")";
}

LogicalResult OptimizationBarrierOp::verify() { return verifyOperandTypes(*this, getResultTypes(), "results"); }

LogicalResult WhileOp::verify() {
  return failure(failed(verifyOperandTypes(*this, getCond().getArgumentTypes(), "condition arguments")) ||
                 failed(verifyOperandTypes(*this, getBody().getArgumentTypes(), "body arguments")) ||
                 failed(verifyOperandTypes(*this, getResultTypes(), "results")));
}

} // namespace p3d::stablehlo

using namespace p3d::stablehlo;
#define GET_OP_CLASSES
#include "dialects/StableHLO/StableHLOOps.cpp.inc"
