// Gradients that are partial over an axis are summed over it once, those of tied parameters with their copies between tp and dp; results too.
// RUN: p3dc-opt %s -split-input-file -p3d-insert-gradient-sync -p3d-verify-gradient-sync | FileCheck %s
// RUN: p3dc-opt %s -split-input-file -p3d-insert-gradient-sync=bucket-bytes=100 -p3d-verify-gradient-sync | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: pipe.stage @stage0
// CHECK: pipe.task {{ ?}}synchronize
// CHECK-NEXT: pipe.synchronize [@grads.norm] over "tp" why "each rank of tp has a copy of these parameters, and their gradient from its own part of the values"
// CHECK-NEXT: pipe.reduce_tied @grads.e stages [0, 1] group 0
// CHECK-NEXT: pipe.synchronize [@grads.e, @grads.norm, @grads.w] over "dp" why "gradients are sums over the batch, which dp cuts"
// CHECK-NEXT: }
// CHECK-LABEL: pipe.stage @stage1
// CHECK: pipe.task {{ ?}}synchronize
// CHECK-NEXT: pipe.reduce_tied @grads.e stages [0, 1] group 0
// CHECK-NEXT: pipe.synchronize [@grads.e] over "dp"
// CHECK-NEXT: pipe.synchronize [@loss] over "tp" why "the loss and the metrics are sums over a dimension that tp cuts"
// CHECK-NEXT: pipe.synchronize [@loss] over "dp" why "the loss and the metrics are sums over the batch, which dp cuts"
// CHECK-NEXT: }
// CHECK-NEXT: pipe.task {{ ?}}update

// SMALL: pipe.synchronize [@grads.e, @grads.norm] over "dp"
// SMALL-NEXT: pipe.synchronize [@grads.w] over "dp"
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 2, dp = 2, mb = 2>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @params.e : tensor<4x4xf32> {pipe.tied_stages = array<i64: 0, 1>}
    pipe.buffer parameter @params.norm : tensor<4xf32>
    pipe.buffer parameter @params.w : tensor<4x8xf32>
    pipe.buffer gradient @grads.e : tensor<4x4xf32> {dist.sharding = #dist.sharding<[{tp:2},{}] unreduced{dp,mb}>, pipe.of = @params.e, pipe.tied_stages = array<i64: 0, 1>}
    pipe.buffer gradient @grads.norm : tensor<4xf32> {dist.sharding = #dist.sharding<[{}] unreduced{tp,dp,mb}>, pipe.of = @params.norm}
    pipe.buffer gradient @grads.w : tensor<4x8xf32> {dist.sharding = #dist.sharding<[{},{tp:8}] unreduced{dp,mb}>, pipe.of = @params.w}
    pipe.task forward {
    }
    pipe.task backward {
    }
  }
  pipe.stage @stage1 index 1 layers [1, 1] {
    pipe.buffer parameter @params.e : tensor<4x4xf32> {pipe.tied_stages = array<i64: 0, 1>}
    pipe.buffer gradient @grads.e : tensor<4x4xf32> {dist.sharding = #dist.sharding<[{tp:2},{}] unreduced{dp,mb}>, pipe.of = @params.e, pipe.tied_stages = array<i64: 0, 1>}
    pipe.buffer result @loss : tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{tp,dp,mb}>}
    pipe.task forward {
    }
    pipe.task backward {
    }
    pipe.task update {
      pipe.update "adamw" @params.e by @grads.e
    }
  }
}

// -----

// Two key heads over four ranks: the pairs that share one complete its gradient, once a step.
// CHECK-LABEL: pipe.stage @shared_heads
// CHECK: pipe.synchronize [@grads.k] over "tp_minor" why "neighbours on tp have a copy of the same part of these parameters, and their gradient from their own part of the values"
// CHECK-NEXT: }
module attributes {dist.mesh = #dist.mesh<tp = 4, pp = 1, dp = 1, mb = 2, tp_minor = 2>} {
  pipe.stage @shared_heads index 0 layers [0, 0] {
    pipe.buffer parameter @k : tensor<4x8xf32>
    pipe.buffer parameter @q : tensor<4x8xf32>
    pipe.buffer gradient @grads.k : tensor<4x8xf32> {dist.sharding = #dist.sharding<[{},{tp_major:8}] unreduced{tp_minor}>, pipe.of = @k}
    pipe.buffer gradient @grads.q : tensor<4x8xf32> {dist.sharding = #dist.sharding<[{},{tp:8}]>, pipe.of = @q}
    pipe.task backward {
    }
  }
}

// -----

// What is complete first is reduced first, and lies first in memory: the buffer that the first backward operation adds to.
// CHECK-LABEL: pipe.stage @order
// CHECK: pipe.buffer gradient @grads.b
// CHECK-NEXT: pipe.buffer gradient @grads.a
// CHECK: pipe.synchronize {{.*}}@grads.b, @grads.a
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @order index 0 layers [0, 0] {
    pipe.buffer parameter @a : tensor<f32>
    pipe.buffer parameter @b : tensor<f32>
    pipe.buffer gradient @grads.a : tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp}>, pipe.of = @a}
    pipe.buffer gradient @grads.b : tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp}>, pipe.of = @b}
    pipe.task backward {
      %a = pipe.read @a : tensor<f32>
      %b = pipe.read @b : tensor<f32>
      pipe.accumulate %b into @grads.b : tensor<f32>
      pipe.accumulate %a into @grads.a : tensor<f32>
    }
  }
}
