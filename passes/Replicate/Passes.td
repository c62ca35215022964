//===- Passes.td - sums over replicas and copies ------------------------------------------------------------------===//
#ifndef P3D_REPLICATE_PASSES
#define P3D_REPLICATE_PASSES

include "mlir/Pass/PassBase.td"

def InsertGradientSyncPass : Pass<"p3d-insert-gradient-sync", "::mlir::ModuleOp"> {
  let summary = "sums gradients and results over replicas, once a step";
  let description = [{
    Needs: stages whose gradient and result buffers say in `dist.sharding` over which axes a microbatch's contribution is partial. Guarantees: a
    synchronize task that completes each of them: over tp, then over the copies of a tied parameter, then over dp; over an axis of size 1 nothing. Buffers of one
    axis and element type share messages of at most `bucket-bytes` (a larger buffer has its own), those first that are complete first in the backward pass.

    Before: `pipe.buffer gradient @grads.w : tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp,mb}>, pipe.of = @params.w}`
    After, with dp = 2:
    ```mlir
    pipe.task synchronize {
      pipe.synchronize [@grads.w] over "dp" why "gradients are sums over the batch, which dp cuts"
    }
    ```
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", "25000000", "the largest message of several buffers">];
}

def VerifyGradientSyncPass : Pass<"p3d-verify-gradient-sync", "::mlir::ModuleOp"> {
  let summary = "rejects a step that leaves a partial sum, or sums one twice";
  let description = [{
    C1: a buffer is synchronized over an axis exactly once if its contributions are partial over it and the axis is above 1, else not at all. C2: the gradient of a tied
    parameter is summed with its copies exactly once, any other not at all. C3: copies are summed in the same order in all their stages. C4: all this happens in the synchronize
    task: tp before copies before dp.
  }];
}

#endif
