// Gradients in bf16: their accumulators, and what crosses replicas.
// RUN: p3dc-opt %s -p3d-narrow-gradients -p3d-shard-over-replicas=zero=2 -p3d-insert-gradient-sync -p3d-verify-gradient-sync | FileCheck %s
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<64xf32> {graph.role = "param"}
    pipe.buffer complete @dp : tensor<64xf32>
    // CHECK: gradient @g : tensor<32xbf16>
    pipe.buffer gradient @g : tensor<64xf32> {dist.sharding = #dist.sharding<[{}] unreduced{dp,mb}>, pipe.of = @p}
    // CHECK: result @loss : tensor<f32>
    pipe.buffer result @loss : tensor<f32>
    pipe.task backward {
      // CHECK: graph.convert %{{.*}} : (tensor<64xf32>) -> tensor<64xbf16>
      // CHECK: dist.reduce_scatter {{.*}} : (tensor<64xbf16>) -> tensor<32xbf16>
      %0 = pipe.read @dp : tensor<64xf32>
      pipe.accumulate %0 into @g : tensor<64xf32>
    }
  }
}
