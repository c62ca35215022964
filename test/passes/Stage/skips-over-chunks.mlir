// A value that skips over a chunk goes to the first chunk on its way that is on the stage of its reader, together with what that chunk gets, and stays
// there: sent on its own it would cross what this chunk gets. So does its gradient, on the way back.
// RUN: p3dc-opt %s -p3d-cut-stages=chunks=2 -p3d-verify-stages -p3d-schedule-stages=schedule=interleaved -p3d-verify-schedule | FileCheck %s

// CHECK-LABEL: pipe.stage @stage0
// CHECK: pipe.task {{ ?}}forward {
// CHECK: pipe.send %[[FIRST:[0-9]+]]#0 to 1 channel [[CHAIN:[0-9]+]]
// CHECK: pipe.send %[[FIRST]]#1 to 1 channel [[SKIP:[0-9]+]]
// CHECK: pipe.task {{ ?}}backward {
// CHECK: pipe.read @layer3.grad.0
// CHECK: pipe.task {{ ?}}backward chunk 1 {
// CHECK: pipe.recv from 1 channel
// CHECK: %[[BACK:[0-9]+]] = pipe.recv from 1 channel [[#SKIPBACK:]]
// CHECK-NEXT: pipe.write %[[BACK]] to @layer3.grad.0

// CHECK-LABEL: pipe.stage @stage1
// CHECK: pipe.task {{ ?}}forward {
// CHECK: pipe.recv from 0 channel [[CHAIN]]
// CHECK: %[[HERE:[0-9]+]] = pipe.recv from 0 channel [[SKIP]]
// CHECK-NEXT: pipe.write %[[HERE]] to @layer0.1
// CHECK: pipe.task {{ ?}}forward chunk 1 {
// CHECK: pipe.read @layer0.1 :
// CHECK: pipe.task {{ ?}}backward chunk 1 {
// CHECK: pipe.send %[[LAST:[0-9]+]]#1 to 0 channel
// CHECK-NEXT: pipe.send %[[LAST]]#0 to 0 channel [[#SKIPBACK]]
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 2>} {
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
  graph.block @first.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %z = graph.mul %x, %y : tensor<2x4xf32>
    graph.yield %y, %z : tensor<2x4xf32>, tensor<2x4xf32>
  }
  graph.block @first.bwd(%dy: tensor<2x4xf32>, %dz: tensor<2x4xf32>, %x: tensor<2x4xf32>) -> tensor<4x4xf32> attributes {graph.backward_of = @first.fwd} {
    %p = graph.mul %dz, %x : tensor<2x4xf32>
    %s = graph.add %dy, %p : tensor<2x4xf32>
    %dw = graph.einsum "bd,be->de" %x, %s : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    graph.yield %dw : tensor<4x4xf32>
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
    %y0:2 = graph.call @first.fwd(%xm, %e) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %y1 = graph.call @layer.fwd(%y0#0, %w) {layer = 1} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %y2 = graph.call @layer.fwd(%y1, %w) {layer = 2} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %y3 = graph.call @merge.fwd(%y0#1, %y2, %e) {layer = 3} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %y3 dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    %one = graph.constant dense<1.0> : tensor<2x4xf32>
    %d3:3 = graph.call @merge.bwd(%one, %y0#1, %y2, %e) {layer = 3} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>)
    %d2:2 = graph.call @layer.bwd(%d3#1, %y1, %w) {layer = 2} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
    %d1:2 = graph.call @layer.bwd(%d2#0, %y0#0, %w) {layer = 1} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
    %d0 = graph.call @first.bwd(%d1#0, %d3#0, %xm) {layer = 0} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %de = graph.add %d3#2, %d0 : tensor<4x4xf32>
    %dw = graph.add %d2#1, %d1#1 : tensor<4x4xf32>
    graph.update "sgd" %e, %de : tensor<4x4xf32>, tensor<4x4xf32>
    graph.update "sgd" %w, %dw : tensor<4x4xf32>, tensor<4x4xf32>
    graph.yield %l, %de, %dw : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}
