// The sequence stays whole where the user wants it so, against the search and against annotations.
// RUN: split-file %s %t
// RUN: p3dc-opt %t/off.mlir -split-input-file -verify-diagnostics -p3d-propagate-shardings="tp=2 cut-sequence=off" -p3d-verify-shardings | FileCheck %s
// RUN: p3dc-opt %t/on.mlir -verify-diagnostics -p3d-propagate-shardings="tp=2 cut-sequence=on"

//--- off.mlir

// CHECK: graph.program @loss(%{{.*}}: tensor<16x4xf32> {dist.sharding = #dist.sharding<[{},{tp:2}]>
graph.program @loss(%position: tensor<16x4xf32> {graph.name = "params.p", graph.role = "param"},
                    %ids: tensor<8x16xi32> {graph.name = "batch.ids", graph.role = "input"}) -> tensor<f32> {
  %f = graph.convert %ids : (tensor<8x16xi32>) -> tensor<8x16xf32>
  %p = graph.einsum "bs,sd->bd" %f, %position : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %t = graph.tanh %p : tensor<8x4xf32>
  %s = graph.reduce sum %t dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// expected-remark @below {{annotations: "model" stands for tp}}
graph.program @loss(%position: tensor<16x4xf32> {graph.name = "params.p", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
                    // expected-error @below {{an annotation shards the sequence over tp, which --sequence-parallel=off forbids; leave out one of them}}
                    %ids: tensor<8x16xi32> {graph.name = "batch.ids", graph.role = "input"}) -> tensor<f32> {
  %f = graph.convert %ids : (tensor<8x16xi32>) -> tensor<8x16xf32>
  %p = graph.einsum "bs,sd->bd" %f, %position : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %s = graph.reduce sum %p dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

//--- on.mlir
// expected-remark @below {{annotations: "model" stands for tp}}
graph.program @loss(%position: tensor<16x4xf32> {graph.name = "params.p", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                    // expected-error @below {{an annotation keeps the sequence whole over tp, which --sequence-parallel=on forbids; leave out one of them}}
                    %ids: tensor<8x16xi32> {graph.name = "batch.ids", graph.role = "input"}) -> tensor<f32> {
  %f = graph.convert %ids : (tensor<8x16xi32>) -> tensor<8x16xf32>
  %p = graph.einsum "bs,sd->bd" %f, %position : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %s = graph.reduce sum %p dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
