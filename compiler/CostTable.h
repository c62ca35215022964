// The value of --cost-table: measured times of the actions of a schedule, in place of those of the cost model.
#pragma once

#include "passes/Schedule/ScheduleCosts.h"
#include "llvm/Support/Error.h"

namespace p3d {

/// Seconds of one microbatch on a whole stage, for each stage or one for all, and of a transfer.
struct CostTable {
  std::vector<double> forward, backward, weightGradient;
  double communication = 0;

  ScheduleCosts costsOf(int64_t stages, int64_t chunks) const;
};

/// Reads {"F": s, "B": s, "W": s, "comm": s}, where F, B and W may be lists with a number for each of `stages`. Errors
/// name the file, the field, and what was expected.
llvm::Expected<CostTable> readCostTable(llvm::StringRef path, int64_t stages);

} // namespace p3d
