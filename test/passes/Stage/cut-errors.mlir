// What cannot be cut is refused with its reason.
// RUN: not p3dc-opt %s -split-input-file -p3d-cut-stages 2>&1 | FileCheck %s
// RUN: not p3dc-opt %s -split-input-file -p3d-cut-stages=stages=2,1 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not p3dc-opt %s -split-input-file -p3d-cut-stages=stages=1,x 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not p3dc-opt %s -split-input-file -p3d-cut-stages=stages=1 2>&1 | FileCheck %s --check-prefix=COUNT

// CHECK: error: 1 layers cannot fill pp = 2 stages, each of which needs at least one layer; use a mesh with pp of at most 1
// SUM: error: stages '2,1' places 3 layers, but the model has 1
// WORD: error: stages '1,x': 'x' is no count of layers; expected 'auto' or one positive number per stage
// COUNT: error: stages '1' names 1 stages, but the mesh has pp = 2
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"},
                      %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %y = graph.call @layer.fwd(%x, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %y dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    graph.yield %l : tensor<f32>
  }
}

// -----

// A metric that is not a sum over microbatches would be a mean of means.
// CHECK: error: result 'top' is no sum over microbatches; return a sum, or use one microbatch
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 2>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"},
                      %x: tensor<4x4xf32> {graph.name = "batch.x", graph.role = "input"})
      -> (tensor<f32> {graph.name = "loss", dist.sharding = #dist.sharding<[] unreduced{mb}>},
          tensor<f32> {graph.name = "top", dist.sharding = #dist.sharding<[]>}) {
    %xm = dist.shard_slice %x dim 0 over mb : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %y = graph.call @layer.fwd(%xm, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %y dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    %m = graph.reduce max %y dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    graph.yield %l, %m : tensor<f32>, tensor<f32>
  }
}

// -----

// CHECK: error: result 'losses' has type 'tensor<2xf32>'; the loss and the metrics are scalars: reduce it in the loss function
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.program @loss(%x: tensor<2xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<2xf32> {graph.name = "losses"}) {
    graph.yield %x : tensor<2xf32>
  }
}
