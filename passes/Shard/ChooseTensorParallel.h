// Which classes of dimensions tp cuts, when nobody says.
#pragma once

#include "passes/Shard/ShardingAnalysis.h"

namespace p3d::shard {

/// Searches the classes that occur in parameters for the set whose cut leaves each rank the least work and the fewest parameters, then the fewest bytes
/// to move. `fixed` holds the classes that the user's annotations decide: cut, not cut, or open.
llvm::SmallVector<bool> chooseTensorParallel(mlir::ModuleOp module, const DimClasses &classes, dist::MeshAttr mesh,
                                             llvm::ArrayRef<std::optional<bool>> fixed);

} // namespace p3d::shard
