// Which classes of dimensions tp cuts, when nobody says.
#pragma once

#include "passes/Shard/ShardingAnalysis.h"
#include "passes/Shard/UserShardings.h"

namespace p3d::shard {

/// Searches the classes that occur in parameters, and that of the sequence, for the set whose cut leaves each rank the least work and the fewest parameters, then the fewest
/// seconds of messages and memory traffic, under what the user has decided. `options.cut` does not matter.
llvm::SmallVector<bool> chooseTensorParallel(mlir::ModuleOp module, const DimClasses &classes, const ShardingOptions &options, const UserShardings &user);

/// The largest number of parts into which a class of `cut` falls over `tp` ranks: the ranks that have a part of something.
int64_t mostParts(const DimClasses &classes, llvm::ArrayRef<bool> cut, int64_t tp);

} // namespace p3d::shard
