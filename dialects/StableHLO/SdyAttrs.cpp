// How meshes and shardings are read and written.
#include "dialects/StableHLO/SdyDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace p3d::sdy;

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// A list whose items are attributes of type `Attr` in their own form.
template <typename Attr>
static ParseResult parseList(AsmParser &parser, AsmParser::Delimiter delimiter, SmallVectorImpl<Attr> &attrs) {
  return parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
    return parser.parseCustomAttributeWithFallback(attrs.emplace_back());
  });
}

template <typename Attr> static void printItems(AsmPrinter &printer, ArrayRef<Attr> attrs) {
  llvm::interleaveComma(attrs, printer, [&](Attr attr) { printer.printStrippedAttrOrType(attr); });
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t size = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
    return {};
  if (size <= 0) {
    parser.emitError(loc, "expected a positive size of mesh axis \"") << name << "\", found " << size;
    return {};
  }
  return MeshAxisAttr::get(parser.getContext(), name, size);
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer.printString(getName());
  printer << '=' << getSize();
}

/// True for 0, 1, 2, ..., the order that is understood when none is written.
static bool isIota(ArrayRef<int64_t> ids) { return llvm::equal(ids, llvm::seq<int64_t>(0, ids.size())); }

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> ids;
  if (parser.parseLess() || parseList(parser, AsmParser::Delimiter::Square, axes))
    return {};
  if (succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("device_ids") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       [&] { return parser.parseInteger(ids.emplace_back()); }))
      return {};
  if (parser.parseGreater())
    return {};
  // Without axes the ids say which device is meant, so that [0] is not the same as none.
  if (!axes.empty() && isIota(ids))
    ids.clear();
  return MeshAttr::get(parser.getContext(), axes, ids);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printItems(printer, getAxes());
  printer << ']';
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << ']';
  }
  printer << '>';
}

Attribute ManualAxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                     [&] { return parser.parseAttribute(axes.emplace_back()); }))
    return {};
  return ManualAxesAttr::get(parser.getContext(), axes);
}

void ManualAxesAttr::print(AsmPrinter &printer) const {
  printer << '{';
  llvm::interleaveComma(getAxes(), printer);
  printer << '}';
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t preSize = 0, size = 0;
  if (parser.parseString(&name))
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseLParen() || parser.parseInteger(preSize) || parser.parseRParen() || parser.parseInteger(size))
      return {};
    if (preSize <= 0 || size <= 0) {
      parser.emitError(loc, "expected positive sizes of sub-axis, found (") << preSize << ')' << size;
      return {};
    }
  }
  return AxisRefAttr::get(parser.getContext(), name, preSize, size);
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer.printString(getName());
  if (isSubAxis())
    printer << ":(" << getPreSize() << ')' << getSize();
}

Attribute DimensionShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  std::optional<int64_t> priority;
  auto parseItem = [&]() -> ParseResult {
    if (!isClosed)
      return parser.emitError(parser.getCurrentLocation(), "expected '}' after '?'");
    if (succeeded(parser.parseOptionalQuestion())) {
      isClosed = false;
      return success();
    }
    return parser.parseCustomAttributeWithFallback(axes.emplace_back());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseItem))
    return {};
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    int64_t value = 0;
    if (!keyword.consume_front("p") || keyword.getAsInteger(10, value) || value < 0) {
      parser.emitError(loc, "expected a priority like p0 or the next dimension");
      return {};
    }
    priority = value;
  }
  return DimensionShardingAttr::get(parser.getContext(), axes, isClosed, priority);
}

void DimensionShardingAttr::print(AsmPrinter &printer) const {
  printer << '{';
  printItems(printer, getAxes());
  if (!getIsClosed())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << '}';
  if (getPriority())
    printer << 'p' << *getPriority();
}

/// `@mesh` or `mesh<[..]>`.
static Attribute parseMeshOrRef(AsmParser &parser) {
  if (succeeded(parser.parseOptionalKeyword("mesh")))
    return MeshAttr::parse(parser, Type());
  FlatSymbolRefAttr ref;
  if (parser.parseAttribute(ref))
    return {};
  return ref;
}

/// `, replicated={..}` and `, unreduced=KIND{..}` in either order, each at most once.
static ParseResult parseAxisSets(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &replicated,
                                 SmallVectorImpl<AxisRefAttr> &unreduced, StringRef &kind) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    bool isUnreduced = key == "unreduced";
    SmallVectorImpl<AxisRefAttr> &axes = isUnreduced ? unreduced : replicated;
    if ((key != "replicated" && !isUnreduced) || !axes.empty())
      return parser.emitError(loc, "expected 'replicated' or 'unreduced', each once, found '") << key << "'";
    if (isUnreduced)
      (void)parser.parseOptionalKeyword(&kind);
    if (parseList(parser, AsmParser::Delimiter::Braces, axes))
      return failure();
  }
  return success();
}

Attribute TensorShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimensionShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  StringRef kind;
  if (parser.parseLess())
    return {};
  Attribute mesh = parseMeshOrRef(parser);
  if (!mesh || parser.parseComma() || parseList(parser, AsmParser::Delimiter::Square, dims) ||
      parseAxisSets(parser, replicated, unreduced, kind) || parser.parseGreater())
    return {};
  return TensorShardingAttr::get(parser.getContext(), mesh, dims, replicated, unreduced, kind);
}

void TensorShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (auto mesh = llvm::dyn_cast<MeshAttr>(getMeshOrRef())) {
    printer << "mesh";
    mesh.print(printer);
  } else {
    printer << getMeshOrRef();
  }
  printer << ", [";
  printItems(printer, getDimShardings());
  printer << ']';
  auto printSet = [&](StringRef key, StringRef kind, ArrayRef<AxisRefAttr> axes) {
    if (axes.empty())
      return;
    printer << ", " << key << '=' << kind << '{';
    printItems(printer, axes);
    printer << '}';
  };
  printSet("replicated", "", getReplicatedAxes());
  printSet("unreduced", getUnreducedKind(), getUnreducedAxes());
  printer << '>';
}

Attribute TensorShardingPerValueAttr::parse(AsmParser &parser, Type) {
  SmallVector<TensorShardingAttr> shardings;
  if (parser.parseLess() || parseList(parser, AsmParser::Delimiter::Square, shardings) || parser.parseGreater())
    return {};
  return TensorShardingPerValueAttr::get(parser.getContext(), shardings);
}

void TensorShardingPerValueAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  printItems(printer, getShardings());
  printer << "]>";
}
