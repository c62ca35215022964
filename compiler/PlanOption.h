// The value of --plan: what a plan.json says that flags say too. What it says of shardings is read by passes/Shard.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace p3d {

/// Decisions as the values of the flags that make them; empty for those that the plan leaves open.
struct PlannedFlags {
  std::string mesh, rankOrder, microbatches, stages, schedule, order, chunks, zero, recompute;
};

/// Reads the plan at `path`. Errors name the file, the field, and what was expected.
llvm::Expected<PlannedFlags> readPlannedFlags(llvm::StringRef path);

} // namespace p3d
