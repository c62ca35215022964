// A weight used in the first and the last of three stages is held by both, with two gradients that are to be summed; a value that skips a
// stage goes there directly; the gradients of its two uses are summed in the stage where the later of them arises, and sent on once.
// RUN: p3dc-opt %s -p3d-cut-stages -p3d-verify-stages | FileCheck %s

// CHECK-LABEL: pipe.stage @stage0 index 0 layers [0, 0]
// CHECK: parameter @params.e : {{.*}}pipe.tied_stages = array<i64: 0, 2>
// CHECK: gradient @grads.e : tensor<4x4xf32> {{.*}}pipe.of = @params.e, pipe.tied_stages = array<i64: 0, 2>
// CHECK: task {{ ?}}forward
// CHECK-DAG: pipe.send %[[X:.*]] to 1 channel 0
// CHECK-DAG: pipe.send %[[X]] to 2 channel [[SKIP:[0-9]+]]
// CHECK: task {{ ?}}backward
// CHECK: pipe.recv from 1
// CHECK: pipe.accumulate %{{.*}} into @grads.e

// CHECK-LABEL: pipe.stage @stage1 index 1 layers [1, 1]
// CHECK-NOT: @params.e
// CHECK: task {{ ?}}backward
// CHECK: %[[SUM:.*]] = graph.add
// CHECK: pipe.send %[[SUM]] to 0
// CHECK-NOT: pipe.send

// CHECK-LABEL: pipe.stage @stage2 index 2 layers [2, 2]
// CHECK: parameter @params.e
// CHECK: task {{ ?}}forward
// CHECK-DAG: pipe.recv from 0 channel [[SKIP]]
// CHECK: task {{ ?}}backward
// CHECK: pipe.accumulate %{{.*}} into @grads.e
// CHECK-NOT: to 0
// CHECK: pipe.update "sgd" @params.e by @grads.e
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 3, dp = 1, mb = 2>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.block @layer.bwd(%dy: tensor<2x4xf32>, %x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
      attributes {graph.backward_of = @layer.fwd} {
    %dx = graph.einsum "be,de->bd" %dy, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dw = graph.einsum "bd,be->de" %x, %dy : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    graph.yield %dx, %dw : tensor<2x4xf32>, tensor<4x4xf32>
  }
  graph.block @merge.fwd(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %s = graph.einsum "bd,de->be" %b, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %y = graph.mul %a, %s : tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.block @merge.bwd(%dy: tensor<2x4xf32>, %a: tensor<2x4xf32>, %b: tensor<2x4xf32>, %w: tensor<4x4xf32>)
      -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) attributes {graph.backward_of = @merge.fwd} {
    %s = graph.einsum "bd,de->be" %b, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %da = graph.mul %dy, %s : tensor<2x4xf32>
    %ds = graph.mul %dy, %a : tensor<2x4xf32>
    %db = graph.einsum "be,de->bd" %ds, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dw = graph.einsum "bd,be->de" %b, %ds : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    graph.yield %da, %db, %dw : tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>
  }
  graph.program @loss(%e: tensor<4x4xf32> {graph.name = "params.e", graph.role = "param"},
                      %w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"},
                      %x: tensor<4x4xf32> {graph.name = "batch.x", graph.role = "input"})
      -> (tensor<f32> {graph.name = "loss", dist.sharding = #dist.sharding<[] unreduced{mb}>},
          tensor<4x4xf32> {graph.name = "grads.e", dist.sharding = #dist.sharding<[{},{}] unreduced{mb}>},
          tensor<4x4xf32> {graph.name = "grads.w", dist.sharding = #dist.sharding<[{},{}] unreduced{mb}>}) {
    %xm = dist.shard_slice %x dim 0 over mb : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %y0 = graph.call @layer.fwd(%xm, %e) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %y1 = graph.call @layer.fwd(%y0, %w) {layer = 1} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %y2 = graph.call @merge.fwd(%y0, %y1, %e) {layer = 2} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %y2 dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    %one = graph.constant dense<1.0> : tensor<2x4xf32>
    %d2:3 = graph.call @merge.bwd(%one, %y0, %y1, %e) {layer = 2} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>)
    %d1:2 = graph.call @layer.bwd(%d2#1, %y0, %w) {layer = 1} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
    %dy0 = graph.add %d2#0, %d1#0 : tensor<2x4xf32>
    %d0:2 = graph.call @layer.bwd(%dy0, %xm, %e) {layer = 0} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
    %de = graph.add %d2#2, %d0#1 : tensor<4x4xf32>
    graph.update "sgd" %e, %de : tensor<4x4xf32>, tensor<4x4xf32>
    graph.update "sgd" %w, %d1#1 : tensor<4x4xf32>, tensor<4x4xf32>
    graph.yield %l, %de, %d1#1 : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}
