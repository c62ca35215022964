// What the user's annotations (sdy.sharding) say about the classes of dimensions.
#pragma once

#include "passes/Shard/DimClasses.h"
#include <optional>

namespace p3d::shard {

/// For each class whether tp must cut it, must not, or nothing. An axis of the user's mesh that cuts the batch stands for dp, any other for tp; a closed dimension
/// of a parameter that no tp axis cuts stays whole, an open one (`?`) is left to the search. Fails, naming both places, where annotations contradict
/// each other.
mlir::FailureOr<llvm::SmallVector<std::optional<bool>>> readUserShardings(mlir::ModuleOp module,
                                                                          const DimClasses &classes);

} // namespace p3d::shard
