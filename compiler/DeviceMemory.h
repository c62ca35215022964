// Whether a plan fits the memory of a device, and what makes it fit.
#pragma once

#include "compiler/Replan.h"

namespace p3d {

/// Complains if a stage takes more than `options.deviceMemory`: which, its biggest holders, and the flags that help,
/// with the bytes after each.
mlir::LogicalResult checkDeviceMemory(mlir::ModuleOp scheduled, llvm::ArrayRef<StageMemory> memory,
                                      const Options &options, Replanner *replanner);

} // namespace p3d
