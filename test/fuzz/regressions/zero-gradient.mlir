// RUN: p3d-fuzz %s
// Parameters whose gradient is zero: it is returned as it is updated with, cut as its parameter and a sum over microbatches.
module attributes {fuzz.mesh = array<i64: 2, 1, 2>, fuzz.sequence_parallel = "auto"} {
  graph.program @loss(%x: tensor<6x3xf32> {graph.name = "batch.x", graph.role = "input"},
                      %w: tensor<3x2xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{?}, {"model"}]>},
                      %u: tensor<5x3xf32> {graph.name = "params.u", graph.role = "param"}) -> (tensor<f32> {graph.name = "loss"}) {
    %0 = graph.einsum "ab,bd->ad" %x, %w : (tensor<6x3xf32>, tensor<3x2xf32>) -> tensor<6x2xf32>
    %1 = graph.round_even %0 : tensor<6x2xf32>
    %2 = graph.reduce sum %1 dims [0, 1] : (tensor<6x2xf32>) -> tensor<f32>
    %3 = graph.is_finite %u : (tensor<5x3xf32>) -> tensor<5x3xi1>
    %4 = graph.convert %3 : (tensor<5x3xi1>) -> tensor<5x3xf32>
    %5 = graph.reduce sum %4 dims [0, 1] : (tensor<5x3xf32>) -> tensor<f32>
    %6 = graph.add %2, %5 : tensor<f32>
    graph.yield %6 : tensor<f32>
  }
}
