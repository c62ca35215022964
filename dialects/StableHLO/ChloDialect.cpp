// Registers the dialect `chlo` and defines what its tables do not.
#include "dialects/StableHLO/ChloDialect.h"
#include "dialects/StableHLO/StableHLOAssembly.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d::chlo;

#include "dialects/StableHLO/ChloDialect.cpp.inc"
#include "dialects/StableHLO/ChloEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/StableHLO/ChloAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/StableHLO/ChloOps.cpp.inc"

void ChloDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/StableHLO/ChloOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/StableHLO/ChloAttrs.cpp.inc"
      >();
  // As for `stablehlo`: the importer reports unknown operations.
  allowUnknownOperations();
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  return p3d::stablehlo::parseConstant(parser, result);
}
void ConstantOp::print(OpAsmPrinter &printer) { p3d::stablehlo::printConstant(printer, *this, getValue()); }
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
