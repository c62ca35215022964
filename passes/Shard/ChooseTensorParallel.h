// Which classes of dimensions tp cuts, when nobody says.
#pragma once

#include "passes/Shard/ShardingAnalysis.h"
#include "passes/Shard/UserShardings.h"

namespace p3d::shard {

/// Searches the classes that occur in parameters for the set whose cut leaves each rank the least work and the fewest parameters, then the fewest bytes
/// to move, under what the user has decided.
llvm::SmallVector<bool> chooseTensorParallel(mlir::ModuleOp module, const DimClasses &classes, dist::MeshAttr mesh,
                                             const UserShardings &user);

} // namespace p3d::shard
