// Registers the dialect and defines its types and attributes.
#include "dialects/StableHLO/StableHLODialect.h"
#include "dialects/StableHLO/StableHLOFields.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d::stablehlo;

#include "dialects/StableHLO/StableHLODialect.cpp.inc"
#include "dialects/StableHLO/StableHLOEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/StableHLO/StableHLOAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/StableHLO/StableHLOTypes.cpp.inc"

void StableHLODialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/StableHLO/StableHLOOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/StableHLO/StableHLOAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/StableHLO/StableHLOTypes.cpp.inc"
      >();
  // The importer reports all operations it does not know at once, with their counts; the parser must let them pass.
  allowUnknownOperations();
}

/// `type_extensions<bounds = [3, ?]>`, the older spelling of `bounds<3, ?>`.
static Attribute parseTypeExtensions(DialectAsmParser &parser) {
  FailureOr<SmallVector<int64_t>> bounds;
  if (parser.parseLess() || parser.parseKeyword("bounds") || parser.parseEqual() || parser.parseLSquare() ||
      failed(bounds = parseBounds(parser)) || parser.parseRSquare() || parser.parseGreater())
    return {};
  return BoundsAttr::get(parser.getContext(), *bounds);
}

Attribute StableHLODialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  if (succeeded(parser.parseOptionalKeyword("type_extensions")))
    return parseTypeExtensions(parser);
  StringRef mnemonic;
  Attribute attr;
  SMLoc loc = parser.getCurrentLocation();
  if (!generatedAttributeParser(parser, &mnemonic, type, attr).has_value())
    parser.emitError(loc, "unknown attribute '") << mnemonic << "' of dialect '" << getNamespace() << "'";
  return attr;
}

void StableHLODialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  (void)generatedAttributePrinter(attr, printer);
}
