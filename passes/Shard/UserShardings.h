// What the user's annotations say: on arguments (sdy.sharding) about classes of dimensions, on values (graph.constrain) also about that value.
#pragma once

#include "passes/Shard/DimClasses.h"
#include <optional>

namespace p3d::shard {

struct UserShardings {
  /// For each class whether tp must cut it, must not, or nothing.
  llvm::SmallVector<std::optional<bool>> fixed;
  /// For each graph.constrain the dimension that tp has to cut, -1 if it may cut none; those that leave it open are missing.
  llvm::DenseMap<mlir::Operation *, int> constraints;
};

/// An axis of the user's mesh that cuts the batch stands for dp, any other for tp; a closed dimension of a parameter that no tp axis cuts stays whole, an open one
/// (`?`) is left to the search. The plan.json at `plan`, unless that is empty, decides as well. Fails, naming both places, where annotations contradict each other or the plan,
/// and where one cannot be obeyed.
mlir::FailureOr<UserShardings> readUserShardings(mlir::ModuleOp module, const DimClasses &classes, llvm::StringRef plan);

} // namespace p3d::shard
