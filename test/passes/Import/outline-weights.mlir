// A loss that reads no input: what depends on weights is in a block all the same.
// RUN: p3dc-opt %s -p3d-outline-layers -p3d-verify-import | FileCheck %s

// CHECK: graph.block @last(%[[W:.*]]: tensor<12xf32>)
// CHECK-NEXT: graph.reduce sum %[[W]]
// CHECK: graph.program
// CHECK-NEXT: graph.call @last
graph.program @loss(%w: tensor<12xf32> {graph.name = "params.w", graph.role = "param"}) -> (tensor<f32> {graph.name = "loss"}) {
  %l = graph.reduce sum %w dims [0] : (tensor<12xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}
