// Operations of the dialect `chlo`.
#ifndef P3D_DIALECTS_STABLEHLO_CHLODIALECT_H
#define P3D_DIALECTS_STABLEHLO_CHLODIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/StableHLO/ChloDialect.h.inc"

#include "dialects/StableHLO/ChloEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/StableHLO/ChloAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/StableHLO/ChloOps.h.inc"

#endif // P3D_DIALECTS_STABLEHLO_CHLODIALECT_H
