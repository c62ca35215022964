// RUN: p3d-fuzz %s
// Cutting the only dimension costs more than it saves, but whoever asks for two ranks gets two parts.
module attributes {fuzz.mesh = array<i64: 2, 1, 1>, fuzz.sequence_parallel = "auto"} {
  graph.program @loss(%w: tensor<4xf32> {graph.name = "params.w", graph.role = "param"},
                      %x: tensor<3x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %b = graph.broadcast %w dims [1] : (tensor<4xf32>) -> tensor<3x4xf32>
    %y = graph.mul %x, %b : tensor<3x4xf32>
    %p = graph.softmax %y : tensor<3x4xf32>
    %q = graph.mul %p, %p : tensor<3x4xf32>
    %l = graph.reduce sum %q dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
    graph.yield %l : tensor<f32>
  }
}
