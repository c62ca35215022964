//===- Passes.td - sums over replicas and copies ------------------------------------------------------------------===//
#ifndef P3D_REPLICATE_PASSES
#define P3D_REPLICATE_PASSES

include "mlir/Pass/PassBase.td"

def NarrowGradientsPass : Pass<"p3d-narrow-gradients", "::mlir::ModuleOp"> {
  let summary = "accumulates and reduces f32 gradients in bf16";
  let description = [{
    Needs stages with their gradient buffers. What is added to a buffer stays as it is, and is rounded when it is added.

    Before: `pipe.buffer gradient @grads.w : tensor<8x16xf32> ..`
    After: `pipe.buffer gradient @grads.w : tensor<8x16xbf16> ..`
  }];
}

def ShardOverReplicasPass : Pass<"p3d-shard-over-replicas", "::mlir::ModuleOp"> {
  let summary = "cuts what all replicas would keep alike: states of the optimizer, gradients, parameters";
  let description = [{
    Needs stages with their gradient buffers. Guarantees (ZeRO): with `zero` 1 each rank of dp updates a share of its parameters, flat and in rows of buffers of at most `bucket-bytes`, and
    gathers all behind the update; with 2 each gradient buffer is no more than the share, and what a microbatch adds is scattered before; with 3 also each parameter (and frozen
    weight), which every use gathers. With 0, or one replica, nothing. Shapes need not divide: the last shares may hold fewer elements, or none.

    Before: `pipe.buffer gradient @grads.w : tensor<8x16xf32> ..`, `pipe.accumulate %g into @grads.w`
    After, with zero = 2 and dp = 2:
    ```mlir
    pipe.buffer gradient @grads.w : tensor<64xf32> {pipe.holds_share, pipe.share = #pipe.share<64 of @grads.w from 0>, ..}
    %f = graph.reshape %g : (tensor<8x16xf32>) -> tensor<128xf32>
    %s = dist.reduce_scatter sum %f dim 0 over dp why ".." : (tensor<128xf32>) -> tensor<64xf32>
    pipe.accumulate %s into @grads.w
    ```
  }];
  let options = [Option<"zero", "zero", "int64_t", "0", "0, 1, 2 or 3">,
                 Option<"bucketBytes", "bucket-bytes", "int64_t", "25000000", "the largest message of several buffers">];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

def InsertGradientSyncPass : Pass<"p3d-insert-gradient-sync", "::mlir::ModuleOp"> {
  let summary = "sums gradients and results over replicas, once a step";
  let description = [{
    Needs: stages whose gradient and result buffers say in `dist.sharding` over which axes a microbatch's contribution is partial. Guarantees: a
    synchronize task that completes each of them: over tp, then over the copies of a tied parameter, then over dp; over an axis of size 1 nothing. Buffers of one
    axis and element type share messages of at most `bucket-bytes` (a larger buffer has its own), those first that are complete first in the backward pass. Over dp, of a buffer whose
    parameter each rank updates a share of, only that share is completed (`pipe.reduce_shares`, a message for each row).

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
    Where each rank of dp updates a share: C5: a gradient that is complete in its share alone updates no more than the share of a parameter; what is updated in shares is gathered once
    over dp, behind its update. C6: what is added to a gradient of which a rank holds a share is that share, scattered over dp once where it is partial. C7: a parameter of which
    a rank holds a share is used only where it is gathered, once.
  }];
}

#endif
