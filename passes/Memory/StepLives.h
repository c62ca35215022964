// What is alive over a whole step.
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "passes/Memory/IntervalPacking.h"
#include "llvm/ADT/MapVector.h"

namespace p3d::memory {

/// For each buffer that a task touches, and that is empty for a part of the step: its bytes, from the first to the last touch by the numbers of the operations.
using BufferUses = llvm::MapVector<exec::BufferOp, LiveInterval>;
BufferUses usesIn(exec::TaskOp task, const mlir::SymbolTable &buffers);

/// The most bytes of temporaries, activations and complete values that are alive at once in a step of `program`, which no
/// plan can do without. `temporariesOf` are alive in a task, by the numbers of its operations.
int64_t mostAliveInStep(exec::ProgramOp program, const llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LiveInterval>> &temporariesOf);

} // namespace p3d::memory
