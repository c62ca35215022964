// What lies in the arena of a stage's program.
#pragma once

#include "dialects/Exec/ExecOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace p3d {

/// A part of a stage's memory under the name that a user knows it by.
struct MemoryHolder {
  std::string what; ///< "params.layers.mlp.up with gradients and optimizer state", "saved results of rms_norm"
  int64_t bytes = 0;
};

/// Bytes of one rank of a stage.
struct StageMemory {
  /// `activations` are what microbatches keep from forward to backward, and what arrives; `workspace` is the rest:
  /// temporaries of tasks, the inputs, scratch of libraries, and what alignment costs.
  int64_t params = 0, grads = 0, optimizer = 0, activations = 0, workspace = 0, total = 0;
  int64_t least = 0; ///< of any plan of the same tasks: with no more than what is alive at once
  int64_t temporaries = 0; ///< of the workspace
  std::vector<MemoryHolder> holders = {}; ///< the biggest first
};

/// Of a module of the level memory, by stage. `scheduled`, the same at level schedule, says what saved values are; it
/// may be null, for a measurement without holders.
std::vector<StageMemory> measureMemory(mlir::ModuleOp planned, mlir::ModuleOp scheduled = nullptr);

} // namespace p3d
