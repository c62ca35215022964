// The custom directives of the pretty forms, and the parsers of constants that the three dialects share.
#ifndef P3D_DIALECTS_STABLEHLO_STABLEHLOASSEMBLY_H
#define P3D_DIALECTS_STABLEHLO_STABLEHLOASSEMBLY_H

#include "dialects/StableHLO/StableHLODialect.h"

namespace p3d::stablehlo {

using mlir::ArrayAttr;
using mlir::DenseBoolArrayAttr;
using mlir::DenseI64ArrayAttr;
using mlir::DenseIntElementsAttr;
using mlir::ElementsAttr;
using mlir::IntegerAttr;
using mlir::OpAsmParser;
using mlir::OpAsmPrinter;
using mlir::Operation;
using mlir::OperandRange;
using mlir::OperationState;
using mlir::ParseResult;
using mlir::StringAttr;
using mlir::Type;
using mlir::TypeRange;
using Operands = llvm::ArrayRef<OpAsmParser::UnresolvedOperand>;
using Types = llvm::SmallVectorImpl<Type>;

//===----------------------------------------------------------------------===//
// Types: one type when all are equal, else a function type
//===----------------------------------------------------------------------===//

/// Reads `T` or `(T, ...) -> T` into `operands` and `result`.
ParseResult parseSameOrFunction(OpAsmParser &parser, llvm::ArrayRef<Type *> operands, Type &result);
void printSameOrFunction(OpAsmPrinter &printer, llvm::ArrayRef<Type> operands, Type result);

template <typename... Rest> ParseResult parseSameOperandsAndResultType(OpAsmParser &parser, Rest &...types) {
  llvm::SmallVector<Type *> all{&types...};
  Type *result = all.pop_back_val();
  return parseSameOrFunction(parser, all, *result);
}
template <typename... Rest> void printSameOperandsAndResultType(OpAsmPrinter &printer, Operation *, Rest... types) {
  llvm::SmallVector<Type> all{types...};
  Type result = all.pop_back_val();
  printSameOrFunction(printer, all, result);
}

ParseResult parseVariadicSameOperandsAndResultType(OpAsmParser &parser, Operands operands, Types &types, Type &result);
void printVariadicSameOperandsAndResultType(OpAsmPrinter &printer, Operation *op, OperandRange operands,
                                            TypeRange types, Type result);

/// `complex` prints its result type alone when the operands' type follows from it.
ParseResult parseComplexOpType(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result);
void printComplexOpType(OpAsmPrinter &printer, Operation *op, Type lhs, Type rhs, Type result);

/// `select` prints the predicate's type and one other when branches and result agree.
ParseResult parseSelectOpType(OpAsmParser &parser, Type &pred, Type &onTrue, Type &onFalse, Type &result);
void printSelectOpType(OpAsmPrinter &printer, Operation *op, Type pred, Type onTrue, Type onFalse, Type result);

ParseResult parsePairwiseOpType(OpAsmParser &parser, Types &operands, Types &results);
void printPairwiseOpType(OpAsmPrinter &printer, Operation *op, TypeRange operands, TypeRange results);

ParseResult parseTupleOpType(OpAsmParser &parser, Types &operands, Type &result);
void printTupleOpType(OpAsmPrinter &printer, Operation *op, TypeRange operands, Type result);

/// Operands, each followed by a comma, up to the keyword that follows.
ParseResult parseOperandsBeforeKeyword(OpAsmParser &parser,
                                       llvm::SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands);
void printOperandsBeforeKeyword(OpAsmPrinter &printer, Operation *op, OperandRange operands);

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// `e8m7`.
ParseResult parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent, IntegerAttr &mantissa);
void printExponentMantissa(OpAsmPrinter &printer, Operation *op, IntegerAttr exponent, IntegerAttr mantissa);

/// `[start:limit:stride, ...]`, a stride of 1 left out.
ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts, DenseI64ArrayAttr &limits,
                             DenseI64ArrayAttr &strides);
void printSliceRanges(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                      DenseI64ArrayAttr strides);

/// `@target`.
ParseResult parseCustomCallTarget(OpAsmParser &parser, StringAttr &target);
void printCustomCallTarget(OpAsmPrinter &printer, Operation *op, StringAttr target);

/// `batching_dims = [..] x [..], contracting_dims = [..] x [..]`, the first left out when empty.
ParseResult parseDotDimensionNumbers(OpAsmParser &parser, DotDimensionNumbersAttr &dims);
void printDotDimensionNumbers(OpAsmPrinter &printer, Operation *op, DotDimensionNumbersAttr dims);

/// `, precision = [P, P]`, or nothing.
ParseResult parsePrecisionConfig(OpAsmParser &parser, ArrayAttr &precision);
void printPrecisionConfig(OpAsmPrinter &printer, Operation *op, ArrayAttr precision);

/// As above, then `, algorithm = <...>`, or nothing.
ParseResult parsePrecisionConfigAndAlgorithm(OpAsmParser &parser, ArrayAttr &precision, DotAlgorithmAttr &algorithm);
void printPrecisionConfigAndAlgorithm(OpAsmPrinter &printer, Operation *op, ArrayAttr precision,
                                      DotAlgorithmAttr algorithm);

/// `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`.
ParseResult parseConvolutionDimensions(OpAsmParser &parser, ConvDimensionNumbersAttr &dims);
void printConvolutionDimensions(OpAsmPrinter &printer, Operation *op, ConvDimensionNumbersAttr dims);

/// `stride = [..], pad = [[a, b], ..], lhs_dilate = [..], rhs_dilate = [..], reverse = [..]`, each optional.
ParseResult parseWindowAttributes(OpAsmParser &parser, DenseI64ArrayAttr &strides, DenseIntElementsAttr &padding,
                                  DenseI64ArrayAttr &lhsDilation, DenseI64ArrayAttr &rhsDilation,
                                  DenseBoolArrayAttr &reversal);
void printWindowAttributes(OpAsmPrinter &printer, Operation *op, DenseI64ArrayAttr strides,
                           DenseIntElementsAttr padding, DenseI64ArrayAttr lhsDilation, DenseI64ArrayAttr rhsDilation,
                           DenseBoolArrayAttr reversal);

//===----------------------------------------------------------------------===//
// Whole operations
//===----------------------------------------------------------------------===//

/// `A dense<...> : T`, or `() <{value = ...}> A : () -> T` when value and result differ in type (quantized results).
ParseResult parseConstant(OpAsmParser &parser, OperationState &result);
void printConstant(OpAsmPrinter &printer, Operation *op, ElementsAttr value);

} // namespace p3d::stablehlo

#endif // P3D_DIALECTS_STABLEHLO_STABLEHLOASSEMBLY_H
