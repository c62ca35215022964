// What is alive over a whole step.
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "passes/Memory/IntervalPacking.h"

namespace p3d::memory {

/// Whether a buffer is empty for a part of the step: an activation or a complete value.
bool isHeldForAWhile(exec::BufferOp buffer);

/// The most bytes of temporaries, activations and complete values that are alive at once in a step of `program`, which no
/// plan can do without. `temporariesOf` are alive in a task, by the numbers of its operations.
int64_t mostAliveInStep(exec::ProgramOp program, const llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LiveInterval>> &temporariesOf);

} // namespace p3d::memory
