// Where the operations of a text stand in it.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace p3d {

/// Parses the text of `sources`. An operation whose location names no file (`loc(unknown)`, or the name of a part of the model alone) is located at its
/// line of the text; messages then say FILE:LINE:COL for it too. Null, after messages, if the text cannot be parsed.
mlir::OwningOpRef<mlir::ModuleOp> parseLocated(const llvm::SourceMgr &sources, mlir::MLIRContext *context);

} // namespace p3d
