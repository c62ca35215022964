// Types, attributes and operations of the dialect `stablehlo`.
#ifndef P3D_DIALECTS_STABLEHLO_STABLEHLODIALECT_H
#define P3D_DIALECTS_STABLEHLO_STABLEHLODIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/StableHLO/StableHLODialect.h.inc"

#include "dialects/StableHLO/StableHLOEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/StableHLO/StableHLOAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/StableHLO/StableHLOTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/StableHLO/StableHLOOps.h.inc"

#endif // P3D_DIALECTS_STABLEHLO_STABLEHLODIALECT_H
