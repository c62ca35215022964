// Between the schedule as data and as attributes of the stages.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Schedule/ScheduleChecker.h"

namespace p3d {

// What stands in `order` beside the actions of microbatches.
inline constexpr llvm::StringLiteral kPrologueAction = "P";
inline constexpr llvm::StringLiteral kSynchronizeAction = "S";
inline constexpr llvm::StringLiteral kUpdateAction = "U";

/// The stages of `module` in the order of their index.
llvm::SmallVector<pipe::StageOp> collectStages(mlir::ModuleOp module);
/// One entry for each send between stages, and for each two tasks of which one hands values to another chunk.
std::vector<Transfer> collectTransfers(mlir::ModuleOp module);
/// The actions of microbatches in the stage's `order`.
StageOrder readOrder(pipe::StageOp stage);
/// `order` as an attribute, with the actions that the stage's other tasks are.
mlir::ArrayAttr writeOrder(pipe::StageOp stage, const StageOrder &order);

} // namespace p3d
