// Attributes and operations of the dialect `sdy`.
#ifndef P3D_DIALECTS_STABLEHLO_SDYDIALECT_H
#define P3D_DIALECTS_STABLEHLO_SDYDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/StableHLO/SdyDialect.h.inc"

#include "dialects/StableHLO/SdyEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/StableHLO/SdyAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/StableHLO/SdyOps.h.inc"

#endif // P3D_DIALECTS_STABLEHLO_SDYDIALECT_H
