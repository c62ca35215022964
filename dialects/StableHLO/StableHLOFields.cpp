// How the fields of structured attributes are read and written, and the attributes whose form is not a list of fields.
#include "dialects/StableHLO/StableHLOFields.h"
#include "dialects/StableHLO/StableHLODialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace p3d::stablehlo {

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>> parseDims(AsmParser &parser) {
  SmallVector<int64_t> dims;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(dims.emplace_back()); }))
    return failure();
  return dims;
}

void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << '[';
  llvm::interleaveComma(dims, printer);
  printer << ']';
}

FailureOr<SmallVector<int64_t>> parseBounds(AsmParser &parser) {
  SmallVector<int64_t> bounds;
  do {
    if (succeeded(parser.parseOptionalQuestion())) {
      bounds.push_back(ShapedType::kDynamic);
      continue;
    }
    int64_t bound = 0;
    OptionalParseResult parsed = parser.parseOptionalInteger(bound);
    if (!parsed.has_value() && bounds.empty())
      break;
    if (!parsed.has_value())
      return parser.emitError(parser.getCurrentLocation(), "expected a bound or '?'");
    if (failed(*parsed))
      return failure();
    bounds.push_back(bound);
  } while (succeeded(parser.parseOptionalComma()));
  return bounds;
}

void printBounds(AsmPrinter &printer, ArrayRef<int64_t> bounds) {
  llvm::interleaveComma(bounds, printer, [&](int64_t bound) {
    if (ShapedType::isDynamic(bound))
      printer << '?';
    else
      printer << bound;
  });
}

FailureOr<bool> parseBool(AsmParser &parser) {
  if (succeeded(parser.parseOptionalKeyword("true")))
    return true;
  if (parser.parseKeyword("false"))
    return failure();
  return false;
}

FailureOr<APFloat> parseDouble(AsmParser &parser) {
  double value = 0;
  if (parser.parseFloat(value))
    return failure();
  return APFloat(value);
}

//===----------------------------------------------------------------------===//
// #stablehlo.axis_ref<name = "x", sub_axis_info = (2)4>
//===----------------------------------------------------------------------===//

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t preSize = 0, size = 0;
  if (parser.parseLess() || parser.parseKeyword("name") || parser.parseEqual() || parser.parseString(&name))
    return {};
  if (succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("sub_axis_info") || parser.parseEqual() || parser.parseLParen() ||
        parser.parseInteger(preSize) || parser.parseRParen() || parser.parseInteger(size))
      return {};
  if (parser.parseGreater())
    return {};
  return AxisRefAttr::get(parser.getContext(), name, preSize, size);
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << "<name = ";
  printer.printString(getName());
  if (getSize())
    printer << ", sub_axis_info = (" << getPreSize() << ')' << getSize();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>
//===----------------------------------------------------------------------===//

namespace {
/// One bracketed list: where two named dimensions and the spatial ones lie.
struct ConvDims {
  int64_t first = -1, second = -1;
  SmallVector<int64_t> spatial;
};

/// Writes `position` to the entry of `spatial` that the list's next item, a number, names.
ParseResult parseSpatial(AsmParser &parser, int64_t position, SmallVectorImpl<int64_t> &spatial) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t index = 0;
  if (parser.parseInteger(index))
    return failure();
  // A tensor's rank bounds this in any sensible program; the limit keeps a wrong number from allocating memory.
  if (index < 0 || index >= 64)
    return parser.emitError(loc, "spatial dimension ") << index << " is out of range; expected at least 0 and below 64";
  if (static_cast<size_t>(index) >= spatial.size())
    spatial.resize(index + 1, -1);
  if (spatial[index] != -1)
    return parser.emitError(loc, "spatial dimension ") << index << " is given twice";
  spatial[index] = position;
  return success();
}

ParseResult parseConvDims(AsmParser &parser, StringRef first, StringRef second, ConvDims &dims) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t position = 0;
  auto parseItem = [&]() -> ParseResult {
    int64_t here = position++;
    if (succeeded(parser.parseOptionalKeyword(first)))
      dims.first = here;
    else if (succeeded(parser.parseOptionalKeyword(second)))
      dims.second = here;
    else if (succeeded(parser.parseOptionalQuestion()))
      return success();
    else
      return parseSpatial(parser, here, dims.spatial);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseItem))
    return failure();
  if (dims.first < 0 || dims.second < 0 || llvm::is_contained(dims.spatial, -1))
    return parser.emitError(loc, "expected dimensions '") << first << "', '" << second
                                                          << "' and every spatial dimension from 0 on";
  return success();
}

void printConvDims(AsmPrinter &printer, StringRef firstName, int64_t first, StringRef secondName, int64_t second,
                   ArrayRef<int64_t> spatial) {
  int64_t rank = std::max(first, second) + 1;
  for (int64_t position : spatial)
    rank = std::max(rank, position + 1);
  SmallVector<std::string> items(rank, "?");
  items[first] = firstName;
  items[second] = secondName;
  for (auto [index, position] : llvm::enumerate(spatial))
    items[position] = std::to_string(index);
  printer << '[';
  llvm::interleaveComma(items, printer);
  printer << ']';
}
} // namespace

/// `x[...]`: the lexer reads `x` alone, as the bracket ends the identifier.
static ParseResult parseConvBody(AsmParser &parser, ConvDims &input, ConvDims &kernel, ConvDims &output) {
  return failure(parseConvDims(parser, "b", "f", input) || parser.parseKeyword("x") ||
                 parseConvDims(parser, "i", "o", kernel) || parser.parseArrow() ||
                 parseConvDims(parser, "b", "f", output));
}

ConvDimensionNumbersAttr parseConvDimensionNumbers(AsmParser &parser) {
  ConvDims input, kernel, output;
  if (parseConvBody(parser, input, kernel, output))
    return {};
  return ConvDimensionNumbersAttr::get(parser.getContext(), input.first, input.second, input.spatial, kernel.first,
                                       kernel.second, kernel.spatial, output.first, output.second, output.spatial);
}

void printConvDimensionNumbers(AsmPrinter &printer, ConvDimensionNumbersAttr attr) {
  printConvDims(printer, "b", attr.getInputBatch(), "f", attr.getInputFeature(), attr.getInputSpatial());
  printer << 'x';
  printConvDims(printer, "i", attr.getKernelInput(), "o", attr.getKernelOutput(), attr.getKernelSpatial());
  printer << "->";
  printConvDims(printer, "b", attr.getOutputBatch(), "f", attr.getOutputFeature(), attr.getOutputSpatial());
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  ConvDimensionNumbersAttr attr = parseConvDimensionNumbers(parser);
  if (!attr || parser.parseGreater())
    return {};
  return attr;
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printConvDimensionNumbers(printer, *this);
  printer << '>';
}

} // namespace p3d::stablehlo
