// What collectives of a device need beside their operands.
#pragma once

#include "dialects/Exec/ExecOps.h"

namespace p3d::memory {

/// Bytes of scratch of its stream that a collective takes on a device, for parts of ranks that do not stand one after the other in its operand
/// (runtime/Comm/Nccl/NcclLayouts). 0 for other commands.
int64_t collectiveScratch(mlir::Operation *command, dist::MeshAttr mesh);

} // namespace p3d::memory
