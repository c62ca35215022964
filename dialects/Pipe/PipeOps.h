// The pipe dialect: the stages of a pipeline and their tasks.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Pipe/PipeDialect.h.inc"
#include "dialects/Pipe/PipeEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Pipe/PipeAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Pipe/PipeOps.h.inc"
