// What cannot be cut over the batch is refused where it stands, with what would work.
// RUN: not p3dc-opt %s -split-input-file -p3d-propagate-shardings="dp=2 microbatches=3" 2>&1 | FileCheck %s

// CHECK: error: batch of 8 does not fall into dp=2 replicas of 3 equal microbatches; sizes that work: dp x microbatches = 1, 2, 4, 8
graph.program @loss(%x: tensor<8xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %s = graph.reduce sum %x dims [0] : (tensor<8xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// CHECK: error: 'graph.cumulative' op works across the batch dimension, which dp=2 and 3 microbatches cut; use dp=1 and --microbatches=1
graph.program @loss(%x: tensor<6xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %c = graph.cumulative sum %x {dim = 0 : i64} : tensor<6xf32>
  %s = graph.reduce sum %c dims [0] : (tensor<6xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// CHECK: error: 'graph.mul' op needs a sum over the whole batch that is complete only after the last of 3 microbatches
// CHECK: note: the sum
graph.program @loss(%x: tensor<6xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %s = graph.reduce sum %x dims [0] : (tensor<6xf32>) -> tensor<f32>
  %p = graph.mul %s, %s : tensor<f32>
  graph.yield %p : tensor<f32>
}
