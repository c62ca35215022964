// RUN: p3d-fuzz %s
// A loss that reads no input is computed in a block too.
module attributes {fuzz.mesh = array<i64: 2, 1, 1>, fuzz.sequence_parallel = "auto"} {
  graph.program @loss(%w: tensor<12xf32> {graph.name = "params.w", graph.role = "param"}) -> (tensor<f32> {graph.name = "loss"}) {
    %l = graph.reduce sum %w dims [0] : (tensor<12xf32>) -> tensor<f32>
    graph.yield %l : tensor<f32>
  }
}
