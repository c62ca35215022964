// What cannot be cut over the batch is refused where it stands, with what would work.
// RUN: not p3dc-opt %s -split-input-file -p3d-propagate-shardings="dp=2 microbatches=3" 2>&1 | FileCheck %s

// CHECK: error: batch of 8 does not fall into dp=2 replicas of 3 equal microbatches; sizes that work: dp x microbatches = 1, 2, 4, 8
graph.program @loss(%x: tensor<8xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %s = graph.reduce sum %x dims [0] : (tensor<8xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// CHECK: error: 'graph.cumulative' op works across the batch dimension, which dp=2 and 3 microbatches cut; use dp=1 and --microbatches=1, or keep the batch dimension outermost and untouched
graph.program @loss(%x: tensor<6xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %c = graph.cumulative sum %x {dim = 0 : i64} : tensor<6xf32>
  %s = graph.reduce sum %c dims [0] : (tensor<6xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// CHECK: error: 'graph.mul' op needs a sum over the whole batch that is complete only after the last of 3 microbatches, since it is not linear in it; use --microbatches=1, or make the loss a sum over the batch divided by something that does not depend on parameters
// CHECK: note: the sum
graph.program @loss(%x: tensor<6xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %s = graph.reduce sum %x dims [0] : (tensor<6xf32>) -> tensor<f32>
  %p = graph.mul %s, %s : tensor<f32>
  graph.yield %p : tensor<f32>
}

// -----

// CHECK: error: 'graph.einsum' op pairs every element of the batch with every other; this needs --microbatches=1 and dp=1
graph.program @loss(%x: tensor<6x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %p = graph.einsum "ad,bd->ab" %x, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x6xf32>
  %s = graph.reduce sum %p dims [0, 1] : (tensor<6x6xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// CHECK: error: no input has a batch dimension that dp=2 and 3 microbatches could cut; use dp=1 and --microbatches=1
graph.program @loss(%w: tensor<6xf32> {graph.name = "params.w", graph.role = "param"}) -> tensor<f32> {
  %s = graph.reduce sum %w dims [0] : (tensor<6xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// One block cannot be both: called on a parameter and on a part of the batch.
// CHECK: error: 'graph.call' op needs the whole batch of a value that dp=2 and 3 microbatches cut; use dp=1 and --microbatches=1
graph.block @f(%a: tensor<6x4xf32>) -> tensor<f32> {
  %s = graph.reduce sum %a dims [0, 1] : (tensor<6x4xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
graph.program @loss(%w: tensor<6x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<6x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %a = graph.call @f(%w) : (tensor<6x4xf32>) -> tensor<f32>
  %b = graph.call @f(%x) : (tensor<6x4xf32>) -> tensor<f32>
  %s = graph.add %a, %b : tensor<f32>
  graph.yield %s : tensor<f32>
}
