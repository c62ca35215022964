// RUN: p3d-fuzz %s
// A penalty on weights is added to a sum over microbatches, and a weight has a gradient of both.
module attributes {fuzz.mesh = array<i64: 2, 2, 3>, fuzz.sequence_parallel = "auto"} {
  graph.program @loss(%w: tensor<7x5xf32> {graph.name = "params.w", graph.role = "param"},
                      %x: tensor<12x7xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %h = graph.einsum "ab,bc->ac" %x, %w : (tensor<12x7xf32>, tensor<7x5xf32>) -> tensor<12x5xf32>
    %t = graph.tanh %h : tensor<12x5xf32>
    %s = graph.reduce sum %t dims [0, 1] : (tensor<12x5xf32>) -> tensor<f32>
    %q = graph.mul %w, %w : tensor<7x5xf32>
    %p = graph.reduce sum %q dims [0, 1] : (tensor<7x5xf32>) -> tensor<f32>
    %l = graph.add %s, %p : tensor<f32>
    graph.yield %l : tensor<f32>
  }
}
