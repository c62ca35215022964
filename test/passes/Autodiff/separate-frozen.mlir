// Layers whose frozen weights stand in other places are layers of another kind.
// RUN: p3dc-opt %s -p3d-separate-frozen | FileCheck %s
// RUN: p3dc-opt %s -p3d-separate-frozen -p3d-differentiate | FileCheck %s --check-prefix=STEP

// CHECK: graph.block @layer(
// CHECK: graph.block @[[TRAINED:layer_[0-9]+]](
// CHECK: graph.call @layer(%arg4, %arg0)
// CHECK: %[[W:.*]] = graph.mul %arg1, %{{.*}}
// CHECK: graph.call @layer(%{{.*}}, %[[W]])
// CHECK: graph.call @[[TRAINED]](%{{.*}}, %arg2)
// CHECK: graph.call @[[TRAINED]](%{{.*}}, %arg3)

// Before the first trained layer nothing is saved and nothing goes back; the gradient of what a frozen layer gives is not sought.
// STEP: graph.block @layer.fwd(
// STEP-SAME: graph.saves = 0
// STEP-NOT: graph.block @layer.bwd
// STEP: graph.block @[[TRAINED:layer_[0-9]+]].fwd(
// STEP-SAME: graph.saves = 1
// STEP: graph.block @[[TRAINED]].bwd(
// STEP: graph.program @loss(
// STEP-SAME: -> (tensor<f32>, tensor<4x4xf32> {graph.name = "grads.c"}, tensor<4x4xf32> {graph.name = "grads.d"})
// STEP-COUNT-2: graph.call @layer.fwd(
// STEP-COUNT-2: graph.call @[[TRAINED]].fwd(
// STEP-COUNT-2: graph.call @[[TRAINED]].bwd(
// STEP-NOT: graph.call
// STEP-COUNT-2: graph.update
// STEP-NOT: graph.update
graph.block @layer(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %h = graph.einsum "ab,bc->ac" %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = graph.tanh %h : tensor<8x4xf32>
  graph.yield %y : tensor<8x4xf32>
}
graph.program @loss(%a: tensor<4x4xf32> {graph.name = "params.a", graph.role = "frozen"}, %b: tensor<4x4xf32> {graph.name = "params.b", graph.role = "frozen"},
                    %c: tensor<4x4xf32> {graph.name = "params.c", graph.role = "param"}, %d: tensor<4x4xf32> {graph.name = "params.d", graph.role = "param"},
                    %x: tensor<8x4xf32> {graph.role = "input"}) -> tensor<f32> {
  %y = graph.call @layer(%x, %a) {layer = 0} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %two = graph.constant dense<2.0> : tensor<4x4xf32>
  %e = graph.mul %b, %two : tensor<4x4xf32>
  %z = graph.call @layer(%y, %e) {layer = 1} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %u = graph.call @layer(%z, %c) {layer = 2} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %v = graph.call @layer(%u, %d) {layer = 3} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %loss = graph.reduce sum %v dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  graph.yield %loss : tensor<f32>
}
