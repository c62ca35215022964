// A stage as a program: buffers of the arena, and a list of commands for each task.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "passes/Memory/Accumulation.h"
#include "passes/Memory/KernelLibrary.h"

namespace p3d::memory {

/// Adds the exec.program of `stage` before it; products have epilogues if `hasEpilogues`.
mlir::LogicalResult bufferizeStage(pipe::StageOp stage, KernelLibrary &kernels, mlir::SymbolTable &symbols,
                                   const Accumulation &accumulation, bool hasEpilogues);

} // namespace p3d::memory
