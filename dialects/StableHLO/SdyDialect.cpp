// Registers the dialect `sdy` and defines its operations.
#include "dialects/StableHLO/SdyDialect.h"
#include "dialects/StableHLO/StableHLOAssembly.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace p3d::sdy {

//===----------------------------------------------------------------------===//
// Custom directives
//===----------------------------------------------------------------------===//

/// `[<@mesh, [..]>, ..]`: a sharding per value without its angle brackets.
static ParseResult parseShardingList(OpAsmParser &parser, TensorShardingPerValueAttr &attr) {
  SmallVector<TensorShardingAttr> shardings;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseCustomAttributeWithFallback(shardings.emplace_back());
      }))
    return failure();
  attr = TensorShardingPerValueAttr::get(parser.getContext(), shardings);
  return success();
}

static void printShardingList(OpAsmPrinter &printer, Operation *, TensorShardingPerValueAttr attr) {
  printer << '[';
  llvm::interleaveComma(attr.getShardings(), printer,
                        [&](TensorShardingAttr sharding) { printer.printStrippedAttrOrType(sharding); });
  printer << ']';
}

/// `(%a: T, %b: U) {...}`.
static ParseResult parseBodyWithArguments(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(
      parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren, /*allowType=*/true, /*allowAttrs=*/true) ||
      parser.parseRegion(body, arguments));
}

static void printBodyWithArguments(OpAsmPrinter &printer, Operation *, Region &body) {
  printer << '(';
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  return stablehlo::parseConstant(parser, result);
}
void ConstantOp::print(OpAsmPrinter &printer) { stablehlo::printConstant(printer, *this, getValue()); }
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ManualComputationOp::verify() {
  size_t operands = getTensors().size(), results = getNumResults();
  size_t in = getInShardings().getShardings().size(), out = getOutShardings().getShardings().size();
  if (in != operands || getBody().getNumArguments() != operands)
    return emitOpError("expects a sharding and a region argument for each of ")
           << operands << " operands, found " << in << " and " << getBody().getNumArguments();
  if (out != results)
    return emitOpError("expects a sharding for each of ") << results << " results, found " << out;
  return success();
}

} // namespace p3d::sdy

using namespace p3d::sdy;

#include "dialects/StableHLO/SdyDialect.cpp.inc"
#include "dialects/StableHLO/SdyEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/StableHLO/SdyAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/StableHLO/SdyOps.cpp.inc"

void SdyDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/StableHLO/SdyOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/StableHLO/SdyAttrs.cpp.inc"
      >();
  // As for `stablehlo`: the importer reports unknown operations.
  allowUnknownOperations();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

constexpr StringLiteral kOpShardingRule = "op_sharding_rule";

/// Keeps what stands between the angle brackets; MLIR has already balanced them and goes on behind the last one.
static Attribute parseOpShardingRule(DialectAsmParser &parser) {
  StringRef spec = parser.getFullSymbolSpec();
  size_t begin = spec.find('<'), end = spec.rfind('>');
  if (begin == StringRef::npos || end == StringRef::npos || end < begin) {
    parser.emitError(parser.getCurrentLocation(), "expected '<' and a sharding rule");
    return {};
  }
  return OpShardingRuleAttr::get(parser.getContext(), spec.slice(begin + 1, end));
}

Attribute SdyDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  if (succeeded(parser.parseOptionalKeyword(kOpShardingRule)))
    return parseOpShardingRule(parser);
  StringRef mnemonic;
  Attribute attr;
  SMLoc loc = parser.getCurrentLocation();
  if (!generatedAttributeParser(parser, &mnemonic, type, attr).has_value())
    parser.emitError(loc, "unknown attribute '") << mnemonic << "' of dialect '" << getNamespace() << "'";
  return attr;
}

void SdyDialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  if (auto rule = dyn_cast<OpShardingRuleAttr>(attr)) {
    printer << kOpShardingRule << '<' << rule.getRule() << '>';
    return;
  }
  (void)generatedAttributePrinter(attr, printer);
}
