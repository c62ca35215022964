// The classes of dimensions as people read and edit them: in the attribute dist.classes, and in a plan.json.
#pragma once

#include "passes/Shard/DimClasses.h"

namespace p3d::shard {

/// The value of dist.classes: each class that arguments of the program have, with the axis that cuts it. `cut` says for each class whether tp does.
mlir::ArrayAttr describeClasses(mlir::ModuleOp module, const DimClasses &classes, llvm::ArrayRef<bool> cut, int64_t dp);

/// What a plan says of one class.
struct PlannedCut {
  int cls;
  bool isCut;
  std::string what; ///< "class 3 leaves dimension 1 of params.h*.up whole"
};

/// Reads `classes` and `sharding` of the plan in the file at `path`. Emits an error that names the file, the field, and what was expected.
mlir::FailureOr<llvm::SmallVector<PlannedCut>> readPlannedCuts(mlir::ModuleOp module, const DimClasses &classes, llvm::StringRef path);

} // namespace p3d::shard
