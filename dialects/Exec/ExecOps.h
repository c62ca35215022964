// The exec dialect: the program of a rank as commands on memory at fixed places.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "dialects/Exec/ExecDialect.h.inc"
#include "dialects/Exec/ExecEnums.h.inc"
#include "dialects/Exec/ExecInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.h.inc"

namespace p3d::exec {

// On buffers of the optimizer's state: the parameter, and which part of its state ("m", "v", "master").
inline constexpr llvm::StringLiteral kStateOfAttr = "exec.state_of";
inline constexpr llvm::StringLiteral kStateAttr = "exec.state";

// On an input buffer: its values v are rows of a table, in [-limit, limit).
inline constexpr llvm::StringLiteral kIndexLimitAttr = "graph.index_limit";

// The gpu.module of the kernels, once they are mapped to a GPU.
inline constexpr llvm::StringLiteral kKernelModule = "kernels";

// On the module: how many events its records and waits name.
inline constexpr llvm::StringLiteral kEventsAttr = "exec.events";
/// On a module: bytes of scratch memory for kernels and matrix products, the last of each arena.
inline constexpr llvm::StringLiteral kWorkspaceAttr = "exec.workspace_bytes";

/// On a planned program for a device: bytes for tables and constants of the runtime, and behind them scratch of the streams tp and dp; the workspace follows.
inline constexpr llvm::StringLiteral kRuntimeBytesAttr = "exec.runtime_bytes";
inline constexpr llvm::StringLiteral kStreamScratchAttr = "exec.stream_scratch";

/// On a planned program: bytes of the arena if what does not live for the whole step took no more than is alive at once.
inline constexpr llvm::StringLiteral kLeastBytesAttr = "exec.least_bytes";

/// On a planned task: bytes of its temporaries that are alive at once.
inline constexpr llvm::StringLiteral kAliveBytesAttr = "exec.alive_bytes";

/// Every buffer and temporary begins at a multiple of this many bytes.
inline constexpr int64_t kAlignment = 64;

/// The type of memory that holds a tensor: i1 as i8, integers signless.
mlir::MemRefType memoryType(mlir::RankedTensorType tensor);
mlir::Type memoryElement(mlir::Type element);
int64_t bytesOf(mlir::MemRefType type);
/// The same elements as one dimension.
mlir::MemRefType flatType(mlir::MemRefType type);

} // namespace p3d::exec

#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

namespace p3d::exec {
/// "forward", of another chunk than the first "forward.1".
std::string taskName(pipe::TaskKind kind, int64_t chunk);
inline std::string nameOf(TaskOp task) { return taskName(task.getKind(), task.getChunk()); }
/// Whether a transfer of the task's pass goes the other way than between stages without chunks: forward to an earlier
/// stage, or backward to a later one.
bool isTurned(mlir::Operation *transfer);
/// The number of the chunk's first slot among the slots of all chunks.
int64_t firstSlotOf(ProgramOp program, int64_t chunk);

/// An entry of `order`: the task, and where it is none of a microbatch the first one's.
struct Action {
  pipe::TaskKind kind;
  int64_t microbatch = 0, chunk = 0;
};
/// "P", "F0", "B0.1", "S"; none for other texts, or a chunk that the program lacks.
std::optional<Action> parseAction(ProgramOp program, llvm::StringRef text);
/// A task with the microbatch that it is for, 0 where it is for none.
struct Step {
  TaskOp task;
  int64_t microbatch = 0;
};
/// The actions of a step that have a task, in order; each task once in a program without an order.
llvm::SmallVector<Step> stepsOf(ProgramOp program);
/// The slot of the action's microbatch among those of all chunks.
int64_t slotOf(ProgramOp program, Action action);
} // namespace p3d::exec
