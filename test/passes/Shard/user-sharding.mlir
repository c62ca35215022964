// An annotation of the user decides what tp cuts: here the contracted dimension, where the search would cut the other.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-propagate-shardings="tp=2" -p3d-verify-shardings | FileCheck %s

sdy.mesh @mesh = <["data"=2, "model"=2]>
// CHECK: graph.program @loss({{.*}}graph.name = "params.w"
// CHECK: graph.einsum "bd,df->bf"{{.*}}<[{},{}] unreduced{tp}>
graph.program @loss(%w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.tanh %h : tensor<8x64xf32>
  %s = graph.reduce sum %a dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// Two annotations that cannot both hold, since an element-wise operation ties their dimensions.
graph.program @loss(
    %a: tensor<64xf32> {graph.name = "params.a", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}]>}, // expected-note {{the other annotation}}
    %b: tensor<64xf32> {graph.name = "params.b", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<f32> { // expected-error {{dimension 0 is closed and not sharded by its annotation, but must lie as another that is sharded; annotate both alike, or leave one open}}
  %c = graph.mul %a, %b : tensor<64xf32>
  %s = graph.reduce sum %c dims [0] : (tensor<64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
