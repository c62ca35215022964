// Ways to break a module of the level partition: what partitioning inserts and decides is dropped, doubled, moved or
// changed.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"
#include <functional>
#include <string>
#include <vector>

namespace p3d {

struct Mutation {
  std::string kind;
  std::string what; ///< the op and the change, for people
  mlir::Location place;
  /// Breaks a clone of the module.
  std::function<void(mlir::ModuleOp)> apply;
};

/// All mutations of `module`, in the order of its ops.
std::vector<Mutation> mutationsOf(mlir::ModuleOp module);

} // namespace p3d
