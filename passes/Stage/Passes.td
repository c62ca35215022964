//===- Passes.td - from one program to the stages of a pipeline ---------------------------------------------------===//
#ifndef P3D_STAGE_PASSES
#define P3D_STAGE_PASSES

include "mlir/Pass/PassBase.td"

def SplitBackwardPass : Pass<"p3d-split-backward", "::mlir::ModuleOp"> {
  let summary = "computes the gradients of weights for themselves";
  let description = [{
    Needs: one partitioned `graph.program`. Guarantees: a backward block yields no gradient that is only a part of weights' gradients; a block of weight gradients (`graph.weight_gradient_of`), called
    after it, does. What both need is a result of the backward block, unless it is computed from saved values by element-wise operations alone: then it is computed again.

    Before:
    ```mlir
    %d:2 = graph.call @layer.bwd(%dy, %w, %saved) ...
    ```
    After:
    ```mlir
    %d:2 = graph.call @layer.bwd(%dy, %w, %saved) ...
    %dw = graph.call @layer.wgrad(%dy, %saved, %d#1) ...
    ```
  }];
}

def CutStagesPass : Pass<"p3d-cut-stages", "::mlir::ModuleOp"> {
  let summary = "cuts the training step between layers into the tasks of pp stages";
  let description = [{
    Needs: one partitioned `graph.program` (local types, `dist.mesh` on the module), layers numbered along the chain by `layer` on the calls of
    forward blocks; a backward block names its forward one (`graph.backward_of`).

    Guarantees: one `pipe.stage` for each coordinate of pp, no program, every layer in one stage; with chunks each stage holds that many parts of the chain, with tasks for each; the slowest stage is as fast as a cut between layers
    allows. What stands before the first layer joins the first stage, what stands after the last the last. A backward call stands in the stage of its
    forward call. Values that no call computes from activations (slices of inputs, masks) are computed again in each task that needs them.

    Before:
    ```mlir
    %y0:2 = graph.call @layer.fwd(%x, %w0) {layer = 0} ...
    %y1:2 = graph.call @layer.fwd(%y0#0, %w1) {layer = 1} ...
    %d1:2 = graph.call @layer.bwd(%dy, %w1, %y1#1) ...
    %d0:2 = graph.call @layer.bwd(%d1#0, %w0, %y0#1) ...
    graph.update "adamw" %w0, %d0#1 ...
    ```
    After, on pp = 2, the first stage:
    ```mlir
    pipe.task forward {
      %y0:2 = graph.call @layer.fwd(%x, %w0) {layer = 0} ...
      pipe.write %y0#1 to @l0.1 ...
      pipe.send %y0#0 to 1 channel 0 ...
    }
    pipe.task backward {
      %d1 = pipe.recv from 1 channel 1 ...
      %d0:2 = graph.call @layer.bwd(%d1, %w0, %s) ...
      pipe.accumulate %d0#1 into @grads.w0 ...
    }
    ```
  }];
  let options = [Option<"stages", "stages", "std::string", "\"auto\"", "'auto', or the number of layers of each stage: 20,20,20,20">,
                 Option<"chunks", "chunks", "int64_t", "1", "parts of the chain of layers on each stage">,
                 Option<"turns", "turns", "bool", "false", "the chain turns around at the last stage instead of going on at the first">];
  let dependentDialects = ["::p3d::pipe::PipeDialect"];
}

def VerifyStagesPass : Pass<"p3d-verify-stages", "::mlir::ModuleOp"> {
  let summary = "rejects a module whose stages are not one pipeline";
  let description = [{
    C1: no program is left and the stages are numbered 0 to pp - 1. C2: every layer is in one part, in order. C3: every send has one receive on its channel, in the
    task of the same kind of the stage that it names, of the same type; without chunks, forward ones go to later stages, backward ones to earlier. C4: what a task reads
    was written: a complete buffer by the prologue, an activation by an earlier task of its chunk or the same task of the chunk next to it, each once. C5: a parameter of several stages names them in every copy.
  }];
}

#endif
