// What each rank of dp keeps or updates a share of: C5, C6 and C7 of p3d-verify-gradient-sync.
#pragma once

#include "dialects/Pipe/PipeOps.h"

namespace p3d {

mlir::LogicalResult verifyShares(pipe::StageOp stage);

} // namespace p3d
