// The description of a program for the runtime: the JSON text of runtime.h.
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "passes/Lower/Operations.h"

namespace p3d::lower {

/// Tasks that have commands, in the order of the table p3d_tasks.
llvm::SmallVector<exec::TaskOp> runnableTasks(exec::ProgramOp program);

/// The text; emits an error where the program lacks what the runtime needs.
mlir::FailureOr<std::string> describeProgram(exec::ProgramOp program, const OperationNames &names);

} // namespace p3d::lower
