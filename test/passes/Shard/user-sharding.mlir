// An annotation of the user decides what tp cuts: here the contracted dimension, where the search would cut the other.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-propagate-shardings="tp=2" -p3d-verify-shardings | FileCheck %s

sdy.mesh @mesh = <["data"=2, "model"=2]>
// CHECK: graph.program @loss({{.*}}graph.name = "params.w"
// CHECK: graph.einsum "bd,df->bf"{{.*}}<[{},{}] unreduced{tp}>
// expected-remark @below {{annotations: "data" (2) stands for dp, "model" (2) for tp}}
graph.program @loss(%w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.tanh %h : tensor<8x64xf32>
  %s = graph.reduce sum %a dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// Two annotations that cannot both hold, since an element-wise operation ties their dimensions.
// expected-remark @below {{annotations: "model" stands for tp}}
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
// CHECK: %[[H:.*]] = dist.reshard {{.*}} to <[{},{}]> why "a sharding constraint of the user wants it so" {dist.remedy = "tp=1; leaving out the constraint"
// CHECK: dist.reshard %[[H]] from <[{},{}]> to <[{},{tp:32}]> why "sin works on a part of the result of a sharding constraint"
// CHECK: graph.sin
// CHECK-NOT: graph.constrain
// expected-remark @below {{annotations: "data" stands for dp, "model" for tp}}
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
// expected-remark @below {{annotations: "data" stands for dp, "model" for tp}}
graph.program @loss(%w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param"},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{wants dimension 0, the batch, whole on every rank, but other annotations shard it; dp always cuts the batch: shard it here too, or leave it open with ?}}
  %c = graph.constrain %h : tensor<8x64xf32> as #sdy.sharding<@mesh, [{}, {"model"}]>
  %s = graph.reduce sum %c dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// expected-remark @below {{annotations: "data" (2) stands for dp, "model" (2) for tp, "expert" (2) for tp}}
graph.program @loss(%w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param"},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<mesh<["data"=2, "model"=2, "expert"=2]>, [{"data"}, {}]>}) -> tensor<f32> {
  // expected-error @below {{shards dimensions 0 and 1 of one value over the axes that stand for tp; shard one of them}}
  %c = graph.constrain %w : tensor<16x64xf32> as #sdy.sharding<@mesh, [{"model"}, {"expert"}]>
  %h = graph.einsum "bd,df->bf" %x, %c : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %s = graph.reduce sum %h dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// expected-remark @below {{annotations: "model" stands for tp}}
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
// -----

// Parameters sharded over the axis of the batch.
// expected-remark @below {{annotations: "data" stands for dp, "model" for tp}}
graph.program @loss(
    // expected-error @below {{dimension 0 is sharded over "data", which stands for dp; dp cuts the batch alone, and parameters are whole over it: leave the axis out of this dimension}}
    %w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.tanh %h : tensor<8x64xf32>
  %s = graph.reduce sum %a dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
// -----

// The batch is sharded over two axes, and stands for dp over both; the parameter over one of them.
// expected-remark @below {{annotations: "model" stands for dp, "data" for dp}}
graph.program @loss(
    // expected-error @below {{dimension 1 is sharded over "model", which stands for dp; dp cuts the batch alone, and parameters are whole over it: leave the axis out of this dimension}}
    %w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.tanh %h : tensor<8x64xf32>
  %s = graph.reduce sum %a dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
// -----

// A part of an axis.
// expected-remark @below {{annotations: "model" stands for tp, "data" for dp}}
graph.program @loss(
    // expected-error @below {{dimension 1 is sharded over a part of "model"; name the whole axis, or leave the dimension open with ?}}
    %w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model":(2)2}]>},
    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.tanh %h : tensor<8x64xf32>
  %s = graph.reduce sum %a dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
// -----

// A partial sum.
// expected-remark @below {{annotations: "model" stands for tp, "data" for dp}}
graph.program @loss(
    // expected-error @below {{is annotated as unreduced over "data"; where partial sums are completed follows from the operations: leave out unreduced}}
    %w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model"}], unreduced={"data"}>},
    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.tanh %h : tensor<8x64xf32>
  %s = graph.reduce sum %a dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
// -----

// Nothing but dp cuts the batch: the size says that "model" is tp, though it comes first.
sdy.mesh @sized = <["model"=2, "data"=4]>
// expected-remark @below {{annotations: "model" (2) stands for tp, "data" (4) for dp}}
graph.program @loss(%w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@sized, [{}, {"model"}]>},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input"}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %s = graph.reduce sum %h dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
// -----

// Replicated over tp: an open dimension stays whole too, and the other is cut.
// CHECK-LABEL: graph.program @replicated
// CHECK-SAME: %arg0: tensor<64xf32> {dist.sharding = #dist.sharding<[{}]>
// CHECK-SAME: %arg1: tensor<64x32xf32> {dist.sharding = #dist.sharding<[{},{tp:16}]>
// expected-remark @below {{annotations: "model" (2) stands for tp}}
graph.program @replicated(%a: tensor<64xf32> {graph.name = "params.a", graph.role = "param", graph.user_sharding = #sdy.sharding<mesh<["model"=2]>, [{?}], replicated={"model"}>},
                          %w: tensor<64x32xf32> {graph.name = "params.w", graph.role = "param"}) -> tensor<f32> {
  %h = graph.einsum "d,df->f" %a, %w : (tensor<64xf32>, tensor<64x32xf32>) -> tensor<32xf32>
  %t = graph.tanh %h : tensor<32xf32>
  %s = graph.reduce sum %t dims [0] : (tensor<32xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
// -----

// Replicated over dp, with a batch.
// expected-remark @below {{annotations: "data" (2) stands for dp}}
graph.program @loss(
    %w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param"},
    // expected-error @below {{is annotated as replicated over an axis that stands for dp, which cuts its dimension 0, the batch; leave out replicated}}
    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", graph.user_sharding = #sdy.sharding<mesh<["data"=2]>, [{"data", ?}, {}], replicated={"data"}>}) -> tensor<f32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.tanh %h : tensor<8x64xf32>
  %s = graph.reduce sum %a dims [0, 1] : (tensor<8x64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
// -----

// Of two that contradict each other the smaller priority decides; both places are shown.
// CHECK-LABEL: graph.program @priorities
// CHECK-SAME: %arg0: tensor<64xf32> {dist.sharding = #dist.sharding<[{tp:32}]>
// CHECK-SAME: %arg1: tensor<64xf32> {dist.sharding = #dist.sharding<[{tp:32}]>
// expected-remark @below {{annotations: "model" stands for tp}}
graph.program @priorities(
    // expected-note @below {{the other annotation}}
    %a: tensor<64xf32> {graph.name = "params.a", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}p1]>},
    // expected-remark @below {{dimension 0 is closed and not sharded by its annotation, but must lie as another that is sharded; that one is obeyed, its priority p1 comes before p2}}
    %b: tensor<64xf32> {graph.name = "params.b", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}p2]>}) -> tensor<f32> {
  %c = graph.mul %a, %b : tensor<64xf32>
  %s = graph.reduce sum %c dims [0] : (tensor<64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
