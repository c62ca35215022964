// What the user's annotations say: on arguments (sdy.sharding) about classes of dimensions, on values (graph.constrain) also about that value.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "passes/Shard/DimClasses.h"
#include <optional>

namespace p3d::shard {

struct UserShardings {
  /// For each class whether tp must cut it, must not, or nothing.
  llvm::SmallVector<std::optional<bool>> fixed;
  /// For each graph.constrain the dimension that tp has to cut, -1 if it may cut none; those that leave it open are missing.
  llvm::DenseMap<mlir::Operation *, int> constraints;
};

/// What an axis of the user's mesh stands for says UserAxes, and a remark; a closed dimension of a parameter that no tp axis cuts stays whole, an open one
/// (`?`) is left to the search. Of two that contradict each other the one with the smaller priority decides. The plan.json at `plan`, unless that is empty, decides as well. Fails, naming both places, where annotations contradict each other or the plan,
/// and where one cannot be obeyed.
mlir::FailureOr<UserShardings> readUserShardings(mlir::ModuleOp module, const DimClasses &classes, dist::MeshAttr mesh, llvm::StringRef plan);

} // namespace p3d::shard
