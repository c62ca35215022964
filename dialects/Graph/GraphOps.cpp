// Registration, assembly of programs and blocks, folders.
#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace p3d::graph;

#include "dialects/Graph/GraphDialect.cpp.inc"
#include "dialects/Graph/GraphEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Graph/GraphOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Graph/GraphAttrs.cpp.inc"
      >();
}

namespace {
/// The function-like part that programs and blocks share: `@name(%arg: T {..}) -> (T {..}) attributes {..} { body }`.
template <typename OpTy> ParseResult parseFunction(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> inputs, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(inputs, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, OpTy::getFunctionTypeAttrName(result.name), buildType,
      OpTy::getArgAttrsAttrName(result.name), OpTy::getResAttrsAttrName(result.name));
}

template <typename OpTy> void printFunction(OpTy op, OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, op, /*isVariadic=*/false, op.getFunctionTypeAttrName(),
                                           op.getArgAttrsAttrName(), op.getResAttrsAttrName());
}

template <typename OpTy>
void buildFunction(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(OpTy::getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Block *body = builder.createBlock(state.addRegion());
  body->addArguments(type.getInputs(), SmallVector<Location>(type.getNumInputs(), state.location));
}
} // namespace

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<ProgramOp>(parser, result);
}
void ProgramOp::print(OpAsmPrinter &printer) { printFunction(*this, printer); }
void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  OpBuilder::InsertionGuard guard(builder);
  buildFunction<ProgramOp>(builder, state, name, type);
}

ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<BlockOp>(parser, result);
}
void BlockOp::print(OpAsmPrinter &printer) { printFunction(*this, printer); }
void BlockOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  OpBuilder::InsertionGuard guard(builder);
  buildFunction<BlockOp>(builder, state, name, type);
}

BlockOp CallOp::lookupBlock() {
  return SymbolTable::lookupNearestSymbolFrom<BlockOp>((*this)->getParentOfType<ModuleOp>(), getCalleeAttr());
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

std::string p3d::graph::nameOf(CallOp call) {
  if (auto layer = call.getLayer())
    return "layer" + std::to_string(*layer);
  return call.getCallee().rsplit('.').first.str();
}
