// The passes that order the tasks of stages.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/Schedule/ScheduleCosts.h"

namespace p3d {
#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"
/// `costsOf` gives the times of the tasks of a module, for schedules that are searched for.
std::unique_ptr<mlir::Pass> createScheduleStagesPass(ScheduleStagesPassOptions options,
                                                     std::function<ScheduleCosts(mlir::ModuleOp)> costsOf);
#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"
} // namespace p3d
