//===- Passes.td - from stages to programs at fixed places ---------------------------------------------------------===//
#ifndef P3D_MEMORY_PASSES
#define P3D_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def ExpandNamedOps : Pass<"p3d-expand-named-ops", "::mlir::ModuleOp"> {
  let summary = "writes named operations that have no kernel with those that have";
  let description = [{
    Guarantees that every operation has a generated kernel or one in kernels/Kernels.h: rope becomes halves, softmax_cross_entropy its pieces, embedding a gather
    with ids from 0 on, sums of 16-bit floats f32 sums that are rounded once, a shard_slice that reaches beyond the end a pad and an even one.

        %y = graph.reduce sum %x : bf16   ->   %s = graph.reduce sum %x : bf16 -> f32;  %y = graph.convert %s
  }];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

def Bufferize : Pass<"p3d-bufferize", "::mlir::ModuleOp"> {
  let summary = "blocks become exec.functions, stages exec.programs, values memory, operations commands";
  let description = [{
    Needs local types and an order on each stage. Element-wise operations are fused into the kernel of their user where that is one kernel; kernels are
    linalg.generic in func.func, each content once.

        %h = graph.einsum "bd,df->bf" %x, %up     ->   exec.einsum "bd,df->bf" (%x, %up) -> (%h)
        %a = graph.gelu tanh %h                        exec.launch @gelu(%h) -> (%a)

    With `epilogues` a product's command also adds a bias, takes the gelu or its derivative, and sums rows:

        %h = graph.einsum "bd,df->bf" %x, %up     ->   exec.einsum "bd,df->bf" (%x, %up, %b) -> (%a, %s) then bias_gelu
        %s = graph.add %h, (graph.broadcast %b)
        %a = graph.gelu tanh %s
  }];
  let options = [Option<"receivesAhead", "receives-ahead", "bool", "false", "what a task receives has memory of its own, so that it can come while other tasks run">,
                 Option<"epilogues", "epilogues", "bool", "false", "products with epilogues, which only a device has">];
  let dependentDialects = ["::p3d::exec::ExecDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def JoinLaunches : Pass<"p3d-join-launches", "::mlir::ModuleOp"> {
  let summary = "launches kernels that do not depend on each other together";
  let description = [{
    Needs commands without places. For a GPU a launch costs as much time as a small kernel runs. A launch moves up to one before it, past products and kernels of the library that it has
    no memory in common with, and both become one of a kernel that holds both bodies; each has its own blocks there. Either both add to their results or neither. What is
    computed, and in what order within each, stays as it was.

        exec.launch @kernel.mul(%a) -> (%x); exec.launch @kernel.add(%b) -> (%y)   ->   exec.launch @kernel.mul_add(%a, %b) -> (%x, %y)
  }];
  let dependentDialects = ["::p3d::exec::ExecDialect", "::mlir::func::FuncDialect"];
}

def PlanMemory : Pass<"p3d-plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives every buffer and temporary its place";
  let description = [{
    Temporaries whose lives do not overlap share bytes of the scratch. Accumulators that a step sets to zero are neighbours. Adds the optimizer's state. The last
    `workspace-bytes` of a device's arena are scratch memory of kernels and the library of matrix products, before them stand tables and constants of the runtime.

        exec.temporary : memref<2x32xf32>   ->   exec.temporary at 256 : memref<2x32xf32>
  }];
  let options = [Option<"workspaceBytes", "workspace-bytes", "int64_t", "0", "scratch memory of kernels and the library of matrix products">];
  let dependentDialects = ["::p3d::exec::ExecDialect"];
}

def VerifyMemory : Pass<"p3d-verify-memory", "::mlir::ModuleOp"> {
  let summary = "rejects programs in which memory that is alive is overwritten";
  let description = [{ Checks places alone, without the planner's notions: each command's operands against all that is alive around it. }];
}

def AssignStreams : Pass<"p3d-assign-streams", "::mlir::ModuleOp"> {
  let summary = "orders the streams of a program that only enqueues its commands";
  let description = [{
    Needs planned memory. Computation is one stream, each axis of communication another, transfers have one for each direction. Communication begins after the computation
    before it, and computation waits for it before the first command that touches the same memory, at the latest at the end of the function or task. What is sent
    stays untouched until the slot is used again, which is the runtime's to wait for. In the task that synchronises gradients a reduction waits for the last commands
    of the earlier tasks that touch its buffers instead: it runs beside the rest of the last backward task. What is received into a buffer of its own waits for the last
    command that used the buffer, which is one of the same task for the microbatch before: it comes while the tasks between the two run.

        exec.all_reduce sum %x over tp   ->   exec.record 0 on compute; exec.wait 0 on tp; exec.all_reduce sum %x over tp; exec.record 1 on tp; ..; exec.wait 1 on compute
  }];
  let dependentDialects = ["::p3d::exec::ExecDialect"];
}

def VerifyStreams : Pass<"p3d-verify-streams", "::mlir::ModuleOp"> {
  let summary = "rejects programs in which two streams touch the same memory in no order";
  let description = [{
    Follows what each stream knows to be done (vector clocks through records and waits), knowing nothing of the pass that placed them: through each function, where
    communication has to be behind the computation before it, and computation behind all communication when it ends; and through each program, task by task in the order of
    its schedule, slot by slot, with calls as single commands. A wait for an event that a later command of the program records passes until that command has run once.
  }];
}

#endif
