// The proof that a partitioned program is right.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"

namespace p3d::partition::proof {

/// Types every value of `program` and of the blocks it calls, and emits an error at the first op whose operands do not
/// lie as its meaning needs, or at what is declared otherwise than it is.
mlir::LogicalResult proveProgram(graph::ProgramOp program, dist::MeshAttr mesh);

} // namespace p3d::partition::proof
