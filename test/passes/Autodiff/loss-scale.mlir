// In a program that computes in f16 the gradient of the loss is an argument, which the run sets; it goes through the levels as a scalar that every rank of the last
// stage holds.
// RUN: p3dc-opt %s -p3d-differentiate --split-input-file | FileCheck %s
// RUN: p3dc-opt %s -p3d-differentiate -p3d-widen-products -p3d-narrow-parameters --split-input-file | FileCheck %s --check-prefix=NARROW

// CHECK-LABEL: graph.program @loss(
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {graph.name = "loss_scale", graph.role = "loss_scale"}) -> (tensor<f32>, tensor<4x6xf32>
// CHECK: %[[SUM:.*]] = graph.reduce sum
// CHECK: %[[WIDE:.*]] = graph.broadcast %[[SCALE]]
// CHECK: %[[D:.*]] = graph.convert %[[WIDE]] {{.*}} : (tensor<8x6xf32>) -> tensor<8x6xf16>
// CHECK: %[[DV:.*]] = graph.einsum {{.*}} %[[D]]{{.*}} -> tensor<4x6xf16>
// CHECK: %[[DW:.*]] = graph.convert %[[DV]] {{.*}} : (tensor<4x6xf16>) -> tensor<4x6xf32>
// CHECK: graph.update "adamw" %{{.*}}, %[[DW]]
// The weights are stored in f16, their gradient is summed in f32.
// NARROW-LABEL: graph.program @loss(
// NARROW-SAME: tensor<4x6xf16>
// NARROW: %[[DW:.*]] = graph.einsum {{.*}} -> tensor<4x6xf32>
// NARROW: graph.update "adamw" %{{.*}}, %[[DW]] {decay} : tensor<4x6xf16>, tensor<4x6xf32>
graph.program @loss(%w: tensor<4x6xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<8x4xf16> {graph.role = "input"}) -> tensor<f32> {
  %v = graph.convert %w : (tensor<4x6xf32>) -> tensor<4x6xf16>
  %y = graph.einsum "ab,bc->ac" %x, %v : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  %z = graph.convert %y : (tensor<8x6xf16>) -> tensor<8x6xf32>
  %loss = graph.reduce sum %z dims [0, 1] : (tensor<8x6xf32>) -> tensor<f32>
  graph.yield %loss : tensor<f32>
}

// -----

// A loss in f16 itself.
// CHECK-LABEL: graph.program @narrow_loss(
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {graph.name = "loss_scale", graph.role = "loss_scale"})
// CHECK: %[[SEED:.*]] = graph.convert %[[SCALE]] {graph.grad_role = "{{.*}}", graph.of = {{.*}}} : (tensor<f32>) -> tensor<f16>
// CHECK: graph.broadcast %[[SEED]]
graph.program @narrow_loss(%w: tensor<4xf16> {graph.name = "params.w", graph.role = "param"}) -> tensor<f16> {
  %loss = graph.reduce sum %w dims [0] : (tensor<4xf16>) -> tensor<f16>
  graph.yield %loss : tensor<f16>
}

// -----

// bf16 has the range of f32.
// CHECK-LABEL: graph.program @bf16(
// CHECK-NOT: loss_scale
// CHECK: graph.constant {{.*}}dense<1.000000e+00>
graph.program @bf16(%w: tensor<4xbf16> {graph.name = "params.w", graph.role = "param"}) -> tensor<bf16> {
  %loss = graph.reduce sum %w dims [0] : (tensor<4xbf16>) -> tensor<bf16>
  graph.yield %loss : tensor<bf16>
}
