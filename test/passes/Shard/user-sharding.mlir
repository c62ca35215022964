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

// -----

// A constraint inside decides what tp cuts, and where a closed one stands the value is whole, whatever is cut around it. Nothing of it is left.
// CHECK-LABEL: graph.program @constrained
// CHECK-NOT: graph.constrain
// CHECK: graph.einsum "bd,df->bf"{{.*}}<[{},{tp:32}]>
// CHECK: graph.tanh
// CHECK: %[[H:.*]] = dist.reshard {{.*}} to <[{},{}]> why "the user wants it so"
// CHECK: dist.reshard %[[H]] from <[{},{}]> to <[{},{tp:32}]> why "graph.sin works on a part of what the user constrains"
// CHECK: graph.sin
// CHECK-NOT: graph.constrain
graph.program @constrained(%w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param"},
                           %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %c = graph.constrain %h : tensor<8x64xf32> as #sdy.sharding<@mesh, [{"data"}, {"model"}]>
  %a = graph.tanh %c : tensor<8x64xf32>
  %d = graph.constrain %a : tensor<8x64xf32> as #sdy.sharding<@mesh, [{"data"}, {}]>
  %e = graph.sin %d : tensor<8x64xf32>
  %s = graph.reduce sum %e dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// The batch is cut by dp everywhere.
graph.program @loss(%w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param"},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{wants dimension 0, the batch, whole on every rank, but other annotations shard it; dp always cuts the batch: shard it here too, or leave it open with ?}}
  %c = graph.constrain %h : tensor<8x64xf32> as #sdy.sharding<@mesh, [{}, {"model"}]>
  %s = graph.reduce sum %c dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

graph.program @loss(%w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param"},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  // expected-error @below {{shards dimensions 0 and 1 of one value over the axes that stand for tp; shard one of them}}
  %c = graph.constrain %w : tensor<16x64xf32> as #sdy.sharding<@mesh, [{"model"}, {"data"}]>
  %h = graph.einsum "bd,df->bf" %x, %c : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %s = graph.reduce sum %h dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

graph.program @loss(%w: tensor<64x1xf32> {graph.name = "params.w", graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{shards dimension 1, which has size 1}}
  %c = graph.constrain %w : tensor<64x1xf32> as #sdy.sharding<@mesh, [{}, {"model"}]>
  %s = graph.reduce sum %c dims [0, 1] : (tensor<64x1xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

graph.program @loss(%w: tensor<64xf32> {graph.name = "params.w", graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{is annotated with a sharding of 2 dimensions, but has 1}}
  %c = graph.constrain %w : tensor<64xf32> as #sdy.sharding<@mesh, [{}, {"model"}]>
  %s = graph.reduce sum %c dims [0] : (tensor<64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

graph.program @loss(%w: tensor<64xf32> {graph.name = "params.w", graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{has "columns", expected an sdy.sharding}}
  %c = graph.constrain %w : tensor<64xf32> as "columns"
  %s = graph.reduce sum %c dims [0] : (tensor<64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
