// Memory and views of it.
#pragma once

#include "dialects/Exec/ExecOps.h"

namespace p3d::memory {

/// The argument, buffer, constant or temporary that `memory` is a view of, through any number of views.
inline mlir::Value rootOf(mlir::Value memory) {
  while (auto view = memory.getDefiningOp<exec::ViewOp>())
    memory = view.getSource();
  return memory;
}

} // namespace p3d::memory
