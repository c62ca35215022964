// More ranks than parts.
// RUN: p3dc-opt %s -verify-diagnostics -p3d-propagate-shardings="tp=8"

// expected-error @below {{tp=8 ranks, but the dimensions of the parameters fall into at most 2 parts; use a mesh with tp of at most 2}}
graph.program @loss(%w: tensor<2x2xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<4x2xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %s = graph.reduce sum %h dims [0, 1] : (tensor<4x2xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
