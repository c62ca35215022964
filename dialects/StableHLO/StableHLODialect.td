// The dialect `stablehlo` as exporters print it. Only its assembly and the few constraints that keep readers of the
// IR from crashing are defined here; what an op may say is checked by the importer.
#ifndef P3D_STABLEHLO_DIALECT
#define P3D_STABLEHLO_DIALECT

include "mlir/IR/OpBase.td"

def StableHLO_Dialect : Dialect {
  let name = "stablehlo";
  let summary = "the StableHLO text that frontends export";
  let description = [{
    Reads and prints the published assembly of StableHLO. Operations that are not defined here are kept as unknown
    operations when they come in generic form, so that an importer can list all of them at once.
  }];
  let cppNamespace = "::p3d::stablehlo";
  let useDefaultAttributePrinterParser = 0; // see parseAttribute
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr, ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

#endif // P3D_STABLEHLO_DIALECT
