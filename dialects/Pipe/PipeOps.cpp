// Registration and builders of the pipe dialect.
#include "dialects/Pipe/PipeOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace p3d::pipe;

#include "dialects/Pipe/PipeDialect.cpp.inc"
#include "dialects/Pipe/PipeEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Pipe/PipeAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Pipe/PipeOps.cpp.inc"

void PipeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Pipe/PipeOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Pipe/PipeAttrs.cpp.inc"
      >();
}

void StageOp::build(OpBuilder &builder, OperationState &state, StringRef name, int64_t index,
                    ArrayRef<int64_t> layers) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getIndexAttrName(state.name), builder.getI64IntegerAttr(index));
  state.addAttribute(getLayersAttrName(state.name), builder.getDenseI64ArrayAttr(layers));
  state.addRegion()->emplaceBlock();
}

void TaskOp::build(OpBuilder &builder, OperationState &state, TaskKind kind, int64_t chunk) {
  if (chunk)
    state.addAttribute(getChunkAttrName(state.name), builder.getI64IntegerAttr(chunk));
  state.addAttribute(getKindAttrName(state.name), TaskKindAttr::get(builder.getContext(), kind));
  state.addRegion()->emplaceBlock();
}
