// A penalty on weights is added to a sum over microbatches: it becomes partial, as does the gradient that weights have of it. The sum itself crosses into a block that is linear in it.
// RUN: p3dc-opt %s -p3d-propagate-shardings="dp=2 microbatches=2" -p3d-verify-shardings | FileCheck %s

// CHECK-LABEL: graph.block @sum
// CHECK-LABEL: graph.block @last(%{{.*}}: tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp,mb}>}
// CHECK: %[[P:.*]] = graph.reduce sum
// CHECK: %[[SHARE:.*]] = dist.reshard %[[P]] from <[]> to <[] unreduced{dp,mb}>
// CHECK: graph.add %{{.*}}, %[[SHARE]]
graph.block @sum(%x: tensor<8x4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
  %s = graph.einsum "bd,d->" %x, %w : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
graph.block @last(%s: tensor<f32>, %w: tensor<4xf32>) -> tensor<f32> {
  %q = graph.mul %w, %w : tensor<4xf32>
  %p = graph.reduce sum %q dims [0] : (tensor<4xf32>) -> tensor<f32>
  %l = graph.add %s, %p : tensor<f32>
  graph.yield %l : tensor<f32>
}
graph.program @loss(%x: tensor<8x4xf32> {graph.name = "batch.x", graph.role = "input"}, %w: tensor<4xf32> {graph.name = "params.w", graph.role = "param"}) -> (tensor<f32> {graph.name = "loss"}) {
  %s = graph.call @sum(%x, %w) : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<f32>
  %l = graph.call @last(%s, %w) : (tensor<f32>, tensor<4xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}
