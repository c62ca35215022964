// The dialect `sdy`: the part of Shardy that a program which is not yet partitioned may contain.
#ifndef P3D_SDY_DIALECT
#define P3D_SDY_DIALECT

include "mlir/IR/OpBase.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let summary = "Shardy's meshes and sharding annotations";
  let cppNamespace = "::p3d::sdy";
  let useDefaultAttributePrinterParser = 0; // see parseAttribute
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser, ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr, ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

#endif // P3D_SDY_DIALECT
