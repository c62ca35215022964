// What a run is verified against: the training step before anything was cut, written beside the programs.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace p3d {

/// The files of a verification in the output directory.
inline constexpr llvm::StringLiteral kStepFile = "verify/step.mlir";       ///< the step as autodiff left it
inline constexpr llvm::StringLiteral kShardedFile = "verify/sharded.mlir"; ///< after the choice of shardings, without them: the blocks as they were cut

/// Removes every mention of a sharding from a module of the level shard: what remains is the same computation on whole tensors.
void removeShardings(mlir::ModuleOp sharded);

/// Prints `module` to `path` with locations. An error names the path.
llvm::Error writeReference(mlir::ModuleOp module, llvm::StringRef path);

} // namespace p3d
