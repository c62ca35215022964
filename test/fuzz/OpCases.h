// How the generator makes each operation that a program of a user may have. `p3d-fuzz --all-ops` demands that each operation of the dialects occurs, those that the compiler
// makes of them too.
#pragma once

#include "ProgramBuilder.h"
#include "dialects/StableHLO/StableHLO.h"

namespace p3d::fuzz {

struct OpCase {
  std::string op; ///< without "graph."
  /// Adds the operation, on values of the pool or new ones; null if it could not.
  std::function<Item *(ProgramBuilder &)> make;
  /// How often it is chosen.
  int weight = 2;
};

/// A user's sharding: dimension `cut` (-1: none) over the axis "model", the batch over "data"; other dimensions are open to the compiler or have to stay whole.
sdy::TensorShardingAttr userSharding(mlir::MLIRContext *context, llvm::ArrayRef<bool> batch, int64_t cut, bool restIsOpen);

/// Rows by topic.
void addElementwiseCases(std::vector<OpCase> &cases);
void addShapeCases(std::vector<OpCase> &cases);
void addCombiningCases(std::vector<OpCase> &cases);
void addNamedCases(std::vector<OpCase> &cases);

const std::vector<OpCase> &opCases();

} // namespace p3d::fuzz
