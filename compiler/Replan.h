// What other flags would give: the levels run again with them, up to the memory plan.
#pragma once

#include "compiler/Manifest.h"
#include "compiler/Options.h"
#include "compiler/Progress.h"

namespace p3d {

/// A plan by its memory and time.
struct Alternative {
  std::string flags;   ///< "--zero=1 --sequence-parallel=on": in place of those given
  int64_t bytes = 0;   ///< of the fullest stage
  double stepSeconds = 0;
};

struct PlannedStep {
  std::vector<StageMemory> memory; ///< of each stage
  double seconds = 0;
};

/// The plan if `imported`, the module after import, is compiled with `options`; fails, without a message, where that
/// cannot be compiled.
mlir::FailureOr<PlannedStep> planStep(mlir::ModuleOp imported, const Options &options);

/// The stage that takes the most; there is one.
size_t fullestStage(llvm::ArrayRef<StageMemory> memory);

class Replanner {
public:
  /// `imported` is the module after the level import, `scheduled` the plan with the flags given. Neither is changed.
  /// `progress` shows what is planned.
  Replanner(mlir::ModuleOp imported, mlir::ModuleOp scheduled, const Options &options, Progress &progress);

  /// Each change of one flag that is legal here, those that cost the least time first.
  const std::vector<Alternative> &singles();
  /// The plan of the fewest changes, the cheapest first, with which no stage takes more than `limit`; if there is none,
  /// the smallest that was found; nothing if no flag makes it smaller than `bytes`, as it is.
  std::optional<Alternative> fitting(int64_t limit, int64_t bytes);

private:
  struct Change {
    llvm::StringLiteral flag;
    std::string value;
    void (*make)(Options &options, llvm::StringRef value);
  };
  std::optional<Alternative> plan(llvm::ArrayRef<Change> changes);

  mlir::ModuleOp imported;
  const Options &options;
  Progress &progress;
  std::vector<Change> changes;
  std::optional<std::vector<Alternative>> known;
};

} // namespace p3d
