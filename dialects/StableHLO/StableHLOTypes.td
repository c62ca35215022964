// The two types of StableHLO that are not builtin: tokens and futures.
#ifndef P3D_STABLEHLO_TYPES
#define P3D_STABLEHLO_TYPES

include "dialects/StableHLO/StableHLODialect.td"
include "mlir/IR/AttrTypeBase.td"

class StableHLO_Type<string name, string typeMnemonic> : TypeDef<StableHLO_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def StableHLO_TokenType : StableHLO_Type<"Token", "token"> {
  let summary = "orders operations with side effects";
}

def StableHLO_FutureType : StableHLO_Type<"Future", "future"> {
  let summary = "values that an asynchronous operation will yield";
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let assemblyFormat = "`<` $types `>`";
}

#endif // P3D_STABLEHLO_TYPES
