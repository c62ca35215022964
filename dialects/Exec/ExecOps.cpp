// The exec dialect: registration, assembly of functions, verification.
#include "dialects/Exec/ExecOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace p3d::exec;

#include "dialects/Exec/ExecDialect.cpp.inc"
#include "dialects/Exec/ExecEnums.cpp.inc"
#include "dialects/Exec/ExecInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/ExecOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/ExecAttrs.cpp.inc"
      >();
}

Type p3d::exec::memoryElement(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return element;
  return IntegerType::get(element.getContext(), std::max(8u, integer.getWidth()));
}

MemRefType p3d::exec::memoryType(RankedTensorType tensor) {
  return MemRefType::get(tensor.getShape(), memoryElement(tensor.getElementType()));
}

MemRefType p3d::exec::flatType(MemRefType type) {
  return MemRefType::get({type.getNumElements()}, type.getElementType());
}

int64_t p3d::exec::bytesOf(MemRefType type) {
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

ParseResult FunctionOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FunctionOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  Operation *found = symbols.lookupNearestSymbolFrom(module, getKernelAttr());
  if (!found) // mapped to a GPU already
    found = symbols.lookupNearestSymbolFrom(module, SymbolRefAttr::get(getContext(), kKernelModule, getKernelAttr()));
  if (!found)
    return emitOpError() << "launches '" << getKernel() << "', which is no kernel of this module";
  auto kernel = dyn_cast<func::FuncOp>(found);
  if (!kernel) // lowered already: its parameters are addresses
    return success();
  SmallVector<Type> expected;
  for (Value in : getIns())
    expected.push_back(flatType(cast<MemRefType>(in.getType())));
  llvm::append_range(expected, getStarts().getTypes());
  for (Value out : getOuts())
    expected.push_back(flatType(cast<MemRefType>(out.getType())));
  if (kernel.getArgumentTypes() != ArrayRef<Type>(expected))
    return emitOpError() << "does not give the parameters of '" << getKernel() << "', which are "
                         << kernel.getFunctionType();
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<FunctionOp>((*this)->getParentOfType<ModuleOp>(), getCalleeAttr());
  if (!function)
    return emitOpError() << "calls '" << getCallee() << "', which is no exec.function of this module";
  SmallVector<Type> given(getIns().getTypes());
  llvm::append_range(given, getOuts().getTypes());
  if (function.getArgumentTypes() != ArrayRef<Type>(given) ||
      static_cast<int64_t>(getOuts().size()) != function.getOuts())
    return emitOpError() << "does not give the parameters of '" << getCallee() << "', which are "
                         << function.getFunctionType() << ", the last " << function.getOuts() << " of them outs";
  return success();
}

LogicalResult EinsumOp::verify() {
  if (getIns().size() != 2 || getOuts().size() != 1)
    return emitOpError() << "has " << getIns().size() << " ins and " << getOuts().size() << " outs, expected 2 and 1";
  return success();
}

ValueRange AllReduceOp::getReads() { return getOuts(); }
ValueRange SendOp::getWrites() { return {}; }
ValueRange RecvOp::getReads() { return {}; }
