// Shardings: assembly and arithmetic.
#include "dialects/Dist/DistOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace p3d::dist;

int64_t MeshAttr::getSize(Axis axis) const {
  switch (axis) {
  case Axis::TP: return getTp();
  case Axis::DP: return getDp();
  case Axis::PP: return getPp();
  case Axis::MB: return getMb();
  case Axis::TPMajor: return getTp() / getTpMinor();
  case Axis::TPMinor: return getTpMinor();
  }
  llvm_unreachable("an axis");
}

namespace {
ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<Axis> &axes) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    StringRef word;
    auto loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    auto axis = symbolizeAxis(word);
    if (!axis)
      return parser.emitError(loc) << "'" << word << "' is no axis; expected tp, dp, pp, mb, tp_major or tp_minor";
    axes.push_back(*axis);
    return success();
  });
}

void printAxes(AsmPrinter &printer, ArrayRef<Axis> axes) {
  llvm::interleave(axes, printer.getStream(), [&](Axis axis) { printer << stringifyAxis(axis); }, ",");
}

/// `{dp,mb:2}` or `{}`
ParseResult parseDim(AsmParser &parser, DimSharding &dim) {
  if (parser.parseLBrace())
    return failure();
  if (succeeded(parser.parseOptionalRBrace()))
    return success();
  if (parseAxes(parser, dim.axes) || parser.parseColon() || parser.parseInteger(dim.chunk))
    return failure();
  return parser.parseRBrace();
}
} // namespace

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimSharding> dims;
  SmallVector<Axis> unreduced;
  ReduceKind kind = ReduceKind::Sum;
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        return parseDim(parser, dims.emplace_back());
      }))
    return {};
  if (succeeded(parser.parseOptionalKeyword("unreduced"))) {
    if (parser.parseLBrace() || parseAxes(parser, unreduced) || parser.parseRBrace())
      return {};
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword(&word))) {
      auto parsed = symbolizeReduceKind(word);
      if (!parsed) {
        parser.emitError(loc) << "'" << word << "' is no reduction; expected sum, max, min, prod, and, or";
        return {};
      }
      kind = *parsed;
    }
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), dims, unreduced, kind);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleave(getDims(), printer.getStream(), [&](const DimSharding &dim) {
    printer << "{";
    printAxes(printer, dim.axes);
    if (!dim.axes.empty())
      printer << ":" << dim.chunk;
    printer << "}";
  }, ",");
  printer << "]";
  if (!getUnreduced().empty()) {
    printer << " unreduced{";
    printAxes(printer, getUnreduced());
    printer << "}";
    if (getReduce() != ReduceKind::Sum)
      printer << " " << stringifyReduceKind(getReduce());
  }
  printer << ">";
}

ShardingAttr ShardingAttr::replicated(MLIRContext *context, unsigned rank) {
  return get(context, SmallVector<DimSharding>(rank), {}, ReduceKind::Sum);
}

/// Whether `axes` name `axis` or what it is part of.
static bool covers(ArrayRef<Axis> axes, Axis axis) {
  bool isPart = axis == Axis::TPMajor || axis == Axis::TPMinor;
  return llvm::is_contained(axes, axis) || (isPart && llvm::is_contained(axes, Axis::TP));
}

bool ShardingAttr::isUnreduced(Axis axis) const { return covers(getUnreduced(), axis); }

int ShardingAttr::dimOf(Axis axis) const {
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (covers(dim.axes, axis))
      return i;
  return -1;
}

bool ShardingAttr::isReplicated() const {
  return getUnreduced().empty() && llvm::all_of(getDims(), [](const DimSharding &dim) { return dim.axes.empty(); });
}

SmallVector<int64_t> ShardingAttr::localShape(ArrayRef<int64_t> global, MeshAttr mesh) const {
  SmallVector<int64_t> local(global);
  for (auto [size, dim] : llvm::zip(local, getDims()))
    if (!dim.axes.empty())
      size = dim.chunk;
  return local;
}

Attribute ShardAttr::parse(AsmParser &parser, Type) {
  int64_t dim, chunk, full;
  SmallVector<Axis> axes;
  if (parser.parseLess() || parser.parseKeyword("dim") || parser.parseInteger(dim) || parser.parseKeyword("over") ||
      parser.parseLBrace() || parseAxes(parser, axes) || parser.parseRBrace() || parser.parseKeyword("chunk") ||
      parser.parseInteger(chunk) || parser.parseKeyword("of") || parser.parseInteger(full) || parser.parseGreater())
    return {};
  return get(parser.getContext(), dim, axes, chunk, full);
}

void ShardAttr::print(AsmPrinter &printer) const {
  printer << "<dim " << getDim() << " over {";
  printAxes(printer, getAxes());
  printer << "} chunk " << getChunk() << " of " << getFull() << ">";
}
