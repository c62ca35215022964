// The pipe dialect: the stages of a pipeline and their tasks.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Pipe/PipeDialect.h.inc"
#include "dialects/Pipe/PipeEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Pipe/PipeAttrs.h.inc"

namespace p3d::pipe {
class BufferOp;
class TaskOp;

// On a gradient buffer: its parameter buffer. On the copies of a parameter that several stages use, and their gradients: all those stages.
inline constexpr llvm::StringLiteral kOfAttr = "pipe.of";
inline constexpr llvm::StringLiteral kTiedStagesAttr = "pipe.tied_stages";
// On a parameter and its gradient: which elements a rank of dp updates (ShareAttr), and that the buffer is no more than these.
inline constexpr llvm::StringLiteral kShareAttr = "pipe.share";
inline constexpr llvm::StringLiteral kHoldsShareAttr = "pipe.holds_share";
// On an activation of another chunk than the first: that chunk.
inline constexpr llvm::StringLiteral kChunkAttr = "pipe.chunk";

/// The chunk of an activation.
inline int64_t chunkOf(mlir::Operation *buffer) {
  auto chunk = buffer->getAttrOfType<mlir::IntegerAttr>(kChunkAttr);
  return chunk ? chunk.getInt() : 0;
}

/// What a rank of dp updates of a buffer, null where it updates all.
inline ShareAttr shareOf(mlir::Operation *buffer) { return buffer->getAttrOfType<ShareAttr>(kShareAttr); }
inline bool holdsShare(mlir::Operation *buffer) { return buffer->hasAttr(kHoldsShareAttr); }
} // namespace p3d::pipe

#define GET_OP_CLASSES
#include "dialects/Pipe/PipeOps.h.inc"
