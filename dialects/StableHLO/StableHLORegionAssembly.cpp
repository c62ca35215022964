// The forms of the operations whose region's arguments are written in the operation's header: reduce and while.
#include "dialects/StableHLO/StableHLOAssembly.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace p3d::stablehlo;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

namespace {
/// What stands before the region: inputs, initial values, their types and, in the short form, the name of the reduction.
struct ReduceHeader {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  SmallVector<int64_t> dimensions;
  std::optional<OperationName> shortName;
  FunctionType type;
};
} // namespace

static ParseResult parseReducePairs(OpAsmParser &parser, ReduceHeader &header) {
  do {
    if (parser.parseLParen() || parser.parseOperand(header.inputs.emplace_back()) || parser.parseKeyword("init") ||
        parser.parseColon() || parser.parseOperand(header.inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

/// `applies stablehlo.add`; only operations that the printer would shorten can be rebuilt from their name.
static bool isShortReduction(OperationName name) {
  return name.hasTrait<OpTrait::IsCommutative>() && name.hasTrait<OpTrait::NOperands<2>::Impl>() &&
         name.hasTrait<OpTrait::OneResult>() && name.hasTrait<OpTrait::ZeroRegions>() &&
         name.getDialectNamespace() == StableHLODialect::getDialectNamespace();
}

static ParseResult parseReduceHeader(OpAsmParser &parser, OperationState &result, ReduceHeader &header) {
  if (parseReducePairs(parser, header))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    if (!isShortReduction(*name) || header.inputs.size() != 1)
      return parser.emitError(loc, "expected one input and a commutative binary operation of this dialect, found '")
             << name->getStringRef() << "'; write the reduction as a region";
    header.shortName = *name;
  }
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(header.dimensions.emplace_back()); }) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon())
    return failure();
  loc = parser.getCurrentLocation();
  if (parser.parseType(header.type))
    return failure();
  size_t operands = header.inputs.size() + header.inits.size();
  if (header.type.getNumInputs() != operands)
    return parser.emitError(loc) << "expected " << operands << " operand types, found " << header.type.getNumInputs();
  return success();
}

/// Rebuilds the region of the short form: the operation `name` on two scalars, and its return.
static ParseResult buildShortBody(OpAsmParser &parser, OperationState &result, SMLoc loc, const ReduceHeader &header) {
  auto tensor = dyn_cast<RankedTensorType>(header.type.getInput(0));
  if (!tensor)
    return parser.emitError(loc, "expected the type of a ranked tensor, found ") << header.type.getInput(0);
  Type scalar = RankedTensorType::get({}, tensor.getElementType());
  OpBuilder builder(parser.getContext());
  Block *block = builder.createBlock(result.addRegion());
  block->addArguments({scalar, scalar}, {result.location, result.location});
  OperationState inner(result.location, *header.shortName);
  inner.addOperands(block->getArguments());
  inner.addTypes(scalar);
  Operation *reduction = builder.create(inner);
  builder.create<ReturnOp>(result.location, reduction->getResults());
  return success();
}

/// `reducer(%a: T, %b: T) (%c: U, %d: U) {...}`; the block takes all first members, then all second ones.
static ParseResult parseReducer(OpAsmParser &parser, OperationState &result, size_t pairs) {
  SmallVector<OpAsmParser::Argument> first, second;
  auto parseArgument = [&](OpAsmParser::Argument &argument) -> ParseResult {
    return failure(parser.parseArgument(argument, /*allowType=*/true) ||
                   failed(parser.parseOptionalLocationSpecifier(argument.sourceLoc)));
  };
  if (parser.parseKeyword("reducer"))
    return failure();
  for (size_t i = 0; i < pairs; ++i)
    if (parser.parseLParen() || parseArgument(first.emplace_back()) || parser.parseComma() ||
        parseArgument(second.emplace_back()) || parser.parseRParen())
      return failure();
  first.append(second);
  return parser.parseRegion(*result.addRegion(), first);
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  ReduceHeader header;
  SMLoc loc = parser.getCurrentLocation();
  if (parseReduceHeader(parser, result, header))
    return failure();
  size_t pairs = header.inputs.size();
  TypeRange types = header.type.getInputs();
  if (parser.resolveOperands(header.inputs, types.take_front(pairs), loc, result.operands) ||
      parser.resolveOperands(header.inits, types.drop_front(pairs), loc, result.operands))
    return failure();
  result.addTypes(header.type.getResults());
  result.addAttribute("dimensions", parser.getBuilder().getDenseI64ArrayAttr(header.dimensions));
  if (!header.shortName)
    return parseReducer(parser, result, pairs);
  // The location follows the types here, because it is also the location of what the region holds.
  std::optional<Location> location;
  if (parser.parseOptionalLocationSpecifier(location))
    return failure();
  if (location)
    result.location = *location;
  return buildShortBody(parser, result, loc, header);
}

/// The operation to print after `applies`; null when the region says more than its name.
static Operation *getShortReduction(ReduceOp op) {
  Block &block = op.getBody().front();
  if (op.getInputs().size() != 1 || block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return nullptr;
  Operation *reduction = &block.front();
  auto ret = dyn_cast<ReturnOp>(block.back());
  Type scalar = RankedTensorType::get({}, cast<RankedTensorType>(op.getInputs().front().getType()).getElementType());
  if (!ret || !isShortReduction(reduction->getName()) || !reduction->getAttrs().empty() ||
      !llvm::equal(reduction->getOperands(), block.getArguments()) ||
      !llvm::equal(ret->getOperands(), reduction->getResults()) || !ret->getAttrs().empty())
    return nullptr;
  bool sameType = llvm::all_of(block.getArgumentTypes(), [&](Type type) { return type == scalar; }) &&
                  reduction->getResult(0).getType() == scalar;
  return sameType ? reduction : nullptr;
}

void ReduceOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleave(
      llvm::zip_equal(getInputs(), getInitValues()), printer,
      [&](auto pair) { printer << std::get<0>(pair) << " init: " << std::get<1>(pair); }, "), (");
  printer << ')';
  Operation *reduction = getShortReduction(*this);
  if (reduction)
    printer << " applies " << reduction->getName().getStringRef();
  printer << " across dimensions = [";
  llvm::interleaveComma(getDimensions(), printer);
  printer << ']';
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimensionsAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (reduction)
    return;
  printer.printNewline();
  printer << " reducer";
  size_t pairs = getInputs().size();
  for (size_t i = 0; i < pairs; ++i) {
    printer << '(';
    printer.printRegionArgument(getBody().getArgument(i));
    printer << ", ";
    printer.printRegionArgument(getBody().getArgument(i + pairs));
    printer << ") ";
  }
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parsePair))
    return failure();
  SmallVector<Type> types;
  if (!operands.empty() && parser.parseColonTypeList(types))
    return failure();
  if (parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  result.addTypes(types);
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseKeyword("cond") ||
                 parser.parseRegion(*result.addRegion(), arguments) || parser.parseKeyword("do") ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip_equal(getCond().getArguments(), getOperand()), printer,
                        [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
  printer << ')';
  if (!getOperand().empty())
    printer << " : " << getOperand().getTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << "cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
