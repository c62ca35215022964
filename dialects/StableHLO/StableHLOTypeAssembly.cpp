// The custom directives that print fewer types than an operation has, and that of operand lists.
#include "dialects/StableHLO/StableHLOAssembly.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace p3d::stablehlo {

/// Spreads the types of `function` over `operands` and `result`.
static ParseResult assign(OpAsmParser &parser, SMLoc loc, FunctionType function, ArrayRef<Type *> operands,
                          Type &result) {
  if (function.getNumInputs() != operands.size() || function.getNumResults() != 1)
    return parser.emitError(loc) << "expected a function of " << operands.size() << " operands and one result, found "
                                 << function;
  for (auto [operand, type] : llvm::zip_equal(operands, function.getInputs()))
    *operand = type;
  result = function.getResult(0);
  return success();
}

static void printFunction(OpAsmPrinter &printer, TypeRange operands, Type result) {
  printer.printFunctionalType(operands, TypeRange(result));
}

ParseResult parseSameOrFunction(OpAsmParser &parser, ArrayRef<Type *> operands, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type))
    return assign(parser, loc, function, operands, result);
  for (Type *operand : operands)
    *operand = type;
  result = type;
  return success();
}

void printSameOrFunction(OpAsmPrinter &printer, ArrayRef<Type> operands, Type result) {
  if (llvm::all_of(operands, [&](Type type) { return type == result; }))
    printer.printType(result);
  else
    printFunction(printer, operands, result);
}

ParseResult parseVariadicSameOperandsAndResultType(OpAsmParser &parser, Operands operands, Types &types,
                                                   Type &result) {
  types.resize(operands.size());
  SmallVector<Type *> all;
  for (Type &type : types)
    all.push_back(&type);
  return parseSameOrFunction(parser, all, result);
}

void printVariadicSameOperandsAndResultType(OpAsmPrinter &printer, Operation *, OperandRange, TypeRange types,
                                            Type result) {
  printSameOrFunction(printer, llvm::to_vector(types), result);
}

//===----------------------------------------------------------------------===//
// complex, select
//===----------------------------------------------------------------------===//

/// The type of either part of a complex tensor; null when `type` is none.
static Type partType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return element ? tensor.clone(element.getElementType()) : Type();
}

ParseResult parseComplexOpType(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type))
    return assign(parser, loc, function, {&lhs, &rhs}, result);
  Type part = partType(type);
  if (!part)
    return parser.emitError(loc, "expected a tensor of complex elements, found ") << type;
  lhs = rhs = part;
  result = type;
  return success();
}

void printComplexOpType(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs, Type result) {
  if (lhs == rhs && lhs == partType(result))
    printer.printType(result);
  else
    printFunction(printer, {lhs, rhs}, result);
}

ParseResult parseSelectOpType(OpAsmParser &parser, Type &pred, Type &onTrue, Type &onFalse, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type))
    return assign(parser, loc, function, {&pred, &onTrue, &onFalse}, result);
  pred = type;
  if (parser.parseComma() || parser.parseType(result))
    return failure();
  onTrue = onFalse = result;
  return success();
}

void printSelectOpType(OpAsmPrinter &printer, Operation *, Type pred, Type onTrue, Type onFalse, Type result) {
  if (onTrue == result && onFalse == result)
    printer << pred << ", " << result;
  else
    printFunction(printer, {pred, onTrue, onFalse}, result);
}

//===----------------------------------------------------------------------===//
// optimization_barrier, tuple
//===----------------------------------------------------------------------===//

ParseResult parsePairwiseOpType(OpAsmParser &parser, Types &operands, Types &results) {
  if (parser.parseTypeList(operands))
    return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}

void printPairwiseOpType(OpAsmPrinter &printer, Operation *, TypeRange operands, TypeRange) {
  llvm::interleaveComma(operands, printer);
}

ParseResult parseTupleOpType(OpAsmParser &parser, Types &operands, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  auto tuple = dyn_cast<TupleType>(result);
  if (!tuple)
    return parser.emitError(loc, "expected a tuple type, found ") << result;
  llvm::append_range(operands, tuple.getTypes());
  return success();
}

void printTupleOpType(OpAsmPrinter &printer, Operation *, TypeRange, Type result) { printer.printType(result); }

//===----------------------------------------------------------------------===//
// Operand lists
//===----------------------------------------------------------------------===//

ParseResult parseOperandsBeforeKeyword(OpAsmParser &parser,
                                       SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (!parsed.has_value())
      return success();
    if (failed(*parsed) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}

void printOperandsBeforeKeyword(OpAsmPrinter &printer, Operation *, OperandRange operands) {
  for (Value operand : operands)
    printer << operand << ", ";
}

} // namespace p3d::stablehlo
