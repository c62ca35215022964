// RUN: p3d-fuzz %s
// The gradient of a scale needs the sum over microbatches that it scales, and is linear in it.
module attributes {fuzz.mesh = array<i64: 1, 1, 2>, fuzz.sequence_parallel = "auto"} {
  graph.program @loss(%table: tensor<8x8xf32> {graph.name = "params.table", graph.role = "param"},
                      %ids: tensor<2x5xi32> {fuzz.range = array<f64: 0.0, 8.0>, graph.name = "batch.ids", graph.role = "input"},
                      %scale: tensor<f32> {graph.name = "params.scale", graph.role = "param"}) -> (tensor<f32> {graph.name = "loss"}) {
    %e = graph.embedding %table, %ids : (tensor<8x8xf32>, tensor<2x5xi32>) -> tensor<2x5x8xf32>
    %s = graph.reduce sum %e dims [0, 1, 2] : (tensor<2x5x8xf32>) -> tensor<f32>
    %l = graph.mul %s, %scale : tensor<f32>
    graph.yield %l : tensor<f32>
  }
}
