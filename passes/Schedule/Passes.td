//===- Passes.td - the order of each stage's tasks ----------------------------------------------------------------===//
#ifndef P3D_SCHEDULE_PASSES
#define P3D_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def ScheduleStagesPass : Pass<"p3d-schedule-stages", "::mlir::ModuleOp"> {
  let summary = "orders the tasks of every stage";
  let description = [{
    Needs: stages with the tasks of a whole step. Guarantees: each has `order`, its actions of one step, and `slots`, for each chunk the number of microbatches
    whose activations are alive at once; microbatch mb lives in slot mb % slots. The stages were cut for the schedule: with its chunks, and the backward split or not. The order passed the checker: complete, within the slots, free of deadlock
    with the transfers that the tasks hold.

    Before: `pipe.stage @stage0 index 0 layers [0, 1] {..}`, the first of two stages; two microbatches.
    After:  `pipe.stage @stage0 index 0 layers [0, 1] attributes {order = ["F0", "F1", "B0", "B1", "S", "U"], slots = array<i64: 2>} {..}`.
  }];
  let options = [Option<"schedule", "schedule", "std::string", "\"1f1b\"", "the name of a schedule">,
                 Option<"live", "live", "int64_t", "0", "for auto, the most microbatches alive on a stage; 0: as many as stages">,
                 Option<"orders", "orders", "std::string", "\"\"", "a schedule as text, in place of a name; stages may end in ';'">];
}

def VerifySchedulePass : Pass<"p3d-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "rejects an order that is incomplete, overruns its slots, or deadlocks";
  let description = [{
    C1: every stage has `order` and `slots`. C2: P comes first and S, U last, each exactly where the stage has the task. C3: what lies between passes the
    checker.
  }];
}

#endif
