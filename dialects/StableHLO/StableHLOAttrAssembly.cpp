// The custom directives of attributes, and the form of constants.
#include "dialects/StableHLO/StableHLOAssembly.h"
#include "dialects/StableHLO/StableHLOFields.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace p3d::stablehlo {

ParseResult parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent, IntegerAttr &mantissa) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef format;
  if (parser.parseKeyword(&format))
    return failure();
  StringRef rest = format;
  int32_t exponentBits = 0, mantissaBits = 0;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponentBits) || !rest.consume_front("m") ||
      rest.consumeInteger(10, mantissaBits) || !rest.empty())
    return parser.emitError(loc, "expected a format like e8m7, found '") << format << "'";
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void printExponentMantissa(OpAsmPrinter &printer, Operation *, IntegerAttr exponent, IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts, DenseI64ArrayAttr &limits,
                             DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() || parser.parseInteger(limit.emplace_back()))
      return failure();
    stride.push_back(1);
    return failed(parser.parseOptionalColon()) ? success() : parser.parseInteger(stride.back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  starts = parser.getBuilder().getDenseI64ArrayAttr(start);
  limits = parser.getBuilder().getDenseI64ArrayAttr(limit);
  strides = parser.getBuilder().getDenseI64ArrayAttr(stride);
  return success();
}

void printSliceRanges(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr starts, DenseI64ArrayAttr limits,
                      DenseI64ArrayAttr strides) {
  printer << '[';
  auto ranges = llvm::zip_equal(starts.asArrayRef(), limits.asArrayRef(), strides.asArrayRef());
  llvm::interleaveComma(ranges, printer, [&](auto range) {
    auto [start, limit, stride] = range;
    printer << start << ':' << limit;
    if (stride != 1)
      printer << ':' << stride;
  });
  printer << ']';
}

ParseResult parseCustomCallTarget(OpAsmParser &parser, StringAttr &target) { return parser.parseSymbolName(target); }

void printCustomCallTarget(OpAsmPrinter &printer, Operation *, StringAttr target) { printer.printSymbolName(target); }

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// `KEYWORD = [..] x [..]`.
static ParseResult parseDimPair(OpAsmParser &parser, SmallVector<int64_t> &lhs, SmallVector<int64_t> &rhs) {
  FailureOr<SmallVector<int64_t>> left, right;
  if (parser.parseEqual() || failed(left = parseDims(parser)) || parser.parseKeyword("x") ||
      failed(right = parseDims(parser)))
    return failure();
  lhs = *left;
  rhs = *right;
  return success();
}

static void printDimPair(OpAsmPrinter &printer, StringRef keyword, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  printer << keyword << " = ";
  printDims(printer, lhs);
  printer << " x ";
  printDims(printer, rhs);
}

ParseResult parseDotDimensionNumbers(OpAsmParser &parser, DotDimensionNumbersAttr &dims) {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  if (succeeded(parser.parseOptionalKeyword("batching_dims")))
    if (parseDimPair(parser, lhsBatch, rhsBatch) || parser.parseComma())
      return failure();
  if (parser.parseKeyword("contracting_dims") || parseDimPair(parser, lhsContract, rhsContract))
    return failure();
  dims = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatch, rhsBatch, lhsContract, rhsContract);
  return success();
}

void printDotDimensionNumbers(OpAsmPrinter &printer, Operation *, DotDimensionNumbersAttr dims) {
  if (!dims.getLhsBatchingDimensions().empty() || !dims.getRhsBatchingDimensions().empty()) {
    printDimPair(printer, "batching_dims", dims.getLhsBatchingDimensions(), dims.getRhsBatchingDimensions());
    printer << ", ";
  }
  printDimPair(printer, "contracting_dims", dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions());
}

/// `= [P, P]` after the keyword.
static ParseResult parsePrecisions(OpAsmParser &parser, ArrayAttr &precision) {
  SmallVector<Attribute> values;
  auto parseValue = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<Precision> value = symbolizePrecision(name);
    if (!value)
      return parser.emitError(loc, "expected precision DEFAULT, HIGH or HIGHEST, found '") << name << "'";
    values.push_back(PrecisionAttr::get(parser.getContext(), *value));
    return success();
  };
  if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseValue))
    return failure();
  precision = parser.getBuilder().getArrayAttr(values);
  return success();
}

ParseResult parsePrecisionConfig(OpAsmParser &parser, ArrayAttr &precision) {
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("precision") || parsePrecisions(parser, precision));
}

void printPrecisionConfig(OpAsmPrinter &printer, Operation *, ArrayAttr precision) {
  if (!precision)
    return;
  printer << ", precision = [";
  llvm::interleaveComma(precision.getAsRange<PrecisionAttr>(), printer,
                        [&](PrecisionAttr attr) { printer << stringifyPrecision(attr.getValue()); });
  printer << ']';
}

ParseResult parsePrecisionConfigAndAlgorithm(OpAsmParser &parser, ArrayAttr &precision, DotAlgorithmAttr &algorithm) {
  if (failed(parser.parseOptionalComma()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("precision"))) {
    if (parsePrecisions(parser, precision))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
  }
  if (parser.parseKeyword("algorithm") || parser.parseEqual())
    return failure();
  return parser.parseCustomAttributeWithFallback(algorithm);
}

void printPrecisionConfigAndAlgorithm(OpAsmPrinter &printer, Operation *op, ArrayAttr precision,
                                      DotAlgorithmAttr algorithm) {
  printPrecisionConfig(printer, op, precision);
  if (!algorithm)
    return;
  printer << ", algorithm = ";
  printer.printStrippedAttrOrType(algorithm);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

ParseResult parseConvolutionDimensions(OpAsmParser &parser, ConvDimensionNumbersAttr &dims) {
  dims = parseConvDimensionNumbers(parser);
  return success(dims != nullptr);
}

void printConvolutionDimensions(OpAsmPrinter &printer, Operation *, ConvDimensionNumbersAttr dims) {
  printConvDimensionNumbers(printer, dims);
}

static ParseResult parseI64Array(OpAsmParser &parser, DenseI64ArrayAttr &attr) {
  FailureOr<SmallVector<int64_t>> values = parseDims(parser);
  if (failed(values))
    return failure();
  attr = parser.getBuilder().getDenseI64ArrayAttr(*values);
  return success();
}

static ParseResult parseBoolArray(OpAsmParser &parser, DenseBoolArrayAttr &attr) {
  SmallVector<bool> values;
  auto parseValue = [&]() -> ParseResult {
    FailureOr<bool> value = parseBool(parser);
    if (failed(value))
      return failure();
    values.push_back(*value);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseValue))
    return failure();
  attr = parser.getBuilder().getDenseBoolArrayAttr(values);
  return success();
}

/// `[[low, high], ...]` as dense<...> : tensor<Nx2xi64>.
static ParseResult parsePadding(OpAsmParser &parser, DenseIntElementsAttr &attr) {
  SmallVector<int64_t> values;
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseLSquare() || parser.parseInteger(values.emplace_back()) || parser.parseComma() ||
                   parser.parseInteger(values.emplace_back()) || parser.parseRSquare());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePair))
    return failure();
  auto type =
      RankedTensorType::get({static_cast<int64_t>(values.size()) / 2, 2}, parser.getBuilder().getIntegerType(64));
  attr = DenseIntElementsAttr::get(type, values);
  return success();
}

ParseResult parseWindowAttributes(OpAsmParser &parser, DenseI64ArrayAttr &strides, DenseIntElementsAttr &padding,
                                  DenseI64ArrayAttr &lhsDilation, DenseI64ArrayAttr &rhsDilation,
                                  DenseBoolArrayAttr &reversal) {
  StringRef key;
  if (failed(parser.parseOptionalKeyword(&key)))
    return success();
  while (true) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseEqual())
      return failure();
    ParseResult parsed = success();
    if (key == "stride" && !strides)
      parsed = parseI64Array(parser, strides);
    else if (key == "pad" && !padding)
      parsed = parsePadding(parser, padding);
    else if (key == "lhs_dilate" && !lhsDilation)
      parsed = parseI64Array(parser, lhsDilation);
    else if (key == "rhs_dilate" && !rhsDilation)
      parsed = parseI64Array(parser, rhsDilation);
    else if (key == "reverse" && !reversal)
      parsed = parseBoolArray(parser, reversal);
    else
      return parser.emitError(loc, "unknown or repeated window item '") << key << "'";
    if (failed(parsed))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
    if (parser.parseKeyword(&key))
      return failure();
  }
}

void printWindowAttributes(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides,
                           DenseIntElementsAttr padding, DenseI64ArrayAttr lhsDilation, DenseI64ArrayAttr rhsDilation,
                           DenseBoolArrayAttr reversal) {
  StringRef separator = "";
  auto item = [&](StringRef key) {
    printer << separator << key << " = ";
    separator = ", ";
  };
  auto dims = [&](StringRef key, DenseI64ArrayAttr attr) {
    if (!attr)
      return;
    item(key);
    printDims(printer, attr);
  };
  dims("stride", strides);
  if (padding) {
    item("pad");
    SmallVector<int64_t> values(padding.value_begin<int64_t>(), padding.value_end<int64_t>());
    printer << '[';
    llvm::interleaveComma(llvm::seq<size_t>(0, values.size() / 2), printer,
                          [&](size_t i) { printDims(printer, ArrayRef(values).slice(2 * i, 2)); });
    printer << ']';
  }
  dims("lhs_dilate", lhsDilation);
  dims("rhs_dilate", rhsDilation);
  if (!reversal)
    return;
  item("reverse");
  printer << '[';
  llvm::interleaveComma(reversal.asArrayRef(), printer, [&](bool on) { printer << (on ? "true" : "false"); });
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

ParseResult parseConstant(OpAsmParser &parser, OperationState &result) {
  if (succeeded(parser.parseOptionalLParen())) {
    DictionaryAttr properties;
    if (parser.parseRParen())
      return failure();
    if (succeeded(parser.parseOptionalLess()))
      if (parser.parseAttribute(properties) || parser.parseGreater())
        return failure();
    if (properties)
      result.addAttributes(properties.getValue());
    FunctionType type;
    if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() || parser.parseType(type))
      return failure();
    result.addTypes(type.getResults());
    return success();
  }
  ElementsAttr value;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseAttribute(value, "value", result.attributes))
    return failure();
  result.addTypes(value.getType());
  return success();
}

void printConstant(OpAsmPrinter &printer, Operation *op, ElementsAttr value) {
  Type type = op->getResult(0).getType();
  if (value.getType() == type) {
    printer.printOptionalAttrDict(op->getAttrs(), {"value"});
    printer << ' ' << value;
    return;
  }
  printer << "() <{value = " << value << "}>";
  printer.printOptionalAttrDict(op->getAttrs(), {"value"});
  printer << " : () -> " << type;
}

} // namespace p3d::stablehlo
