// A stage as a program: buffers of the arena, and a list of commands for each task.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "passes/Memory/Accumulation.h"
#include "passes/Memory/KernelLibrary.h"

namespace p3d::memory {

/// What a target has that others have not.
struct ProgramForm {
  bool receivesAhead; ///< what a task receives has memory of its own, so that it can come while other tasks run
  bool hasEpilogues;  ///< of products
};

/// Adds the exec.program of `stage` before it.
mlir::LogicalResult bufferizeStage(pipe::StageOp stage, KernelLibrary &kernels, mlir::SymbolTable &symbols,
                                   const Accumulation &accumulation, ProgramForm form);

} // namespace p3d::memory
