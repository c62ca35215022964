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
      return parser.emitError(loc) << "'" << word << "' is no axis; expected tp, dp, pp or mb";
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

int ShardingAttr::dimOf(Axis axis) const {
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (llvm::is_contained(dim.axes, axis))
      return i;
  return -1;
}

bool ShardingAttr::isReplicated() const {
  return getUnreduced().empty() && llvm::all_of(getDims(), [](const DimSharding &dim) { return dim.axes.empty(); });
}

ShardingAttr ShardingAttr::without(Axis axis) const {
  SmallVector<DimSharding> dims(getDims());
  for (DimSharding &dim : dims)
    if (llvm::is_contained(dim.axes, axis)) {
      assert(dim.axes.size() == 1 && "uncutting one of several axes needs the mesh");
      dim = {};
    }
  SmallVector<Axis> unreduced(llvm::make_filter_range(getUnreduced(), [&](Axis other) { return other != axis; }));
  return get(getContext(), dims, unreduced, unreduced.empty() ? ReduceKind::Sum : getReduce());
}

ShardingAttr ShardingAttr::withCut(unsigned dim, Axis axis, int64_t chunk) const {
  SmallVector<DimSharding> dims(getDims());
  dims[dim].axes.push_back(axis);
  dims[dim].chunk = chunk;
  return get(getContext(), dims, getUnreduced(), getReduce());
}

ShardingAttr ShardingAttr::withUnreduced(Axis axis, ReduceKind kind) const {
  SmallVector<Axis> unreduced(getUnreduced());
  unreduced.push_back(axis);
  llvm::sort(unreduced);
  return get(getContext(), getDims(), unreduced, kind);
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
