// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(graph.program(p3d-assign-roles))' | FileCheck %s

// What the loss sums over is the batch; the float that carries it is the input.
// CHECK: %arg0: tensor<4x2xf32> {graph.name = "arg0", graph.role = "param"}
// CHECK-SAME: %arg1: tensor<8x4xf32> {graph.name = "arg1", graph.role = "input"}
// expected-remark @below {{roles of arguments chosen by flow: 1 as param (arg0); 1 as input (arg1); --params and --inputs say otherwise}}
graph.program @loss(%w: tensor<4x2xf32> {graph.name = "arg0"}, %x: tensor<8x4xf32> {graph.name = "arg1"}) -> tensor<f32> {
  %0 = graph.einsum "ab,bc->ac" %x, %w : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %1 = graph.reduce sum %0 dims [0, 1] : (tensor<8x2xf32>) -> tensor<f32>
  graph.yield %1 : tensor<f32>
}

// -----

// Equal sizes do not matter: %w is [8, 8] too.
// CHECK: %arg0: tensor<8x8xf32> {graph.role = "param"}
// CHECK-SAME: %arg1: tensor<8xi32> {graph.role = "input"}
// CHECK-SAME: %arg2: tensor<8x8xf32> {graph.role = "input"}
// expected-remark @below {{2 as input}}
graph.program @loss(%w: tensor<8x8xf32>, %ids: tensor<8xi32>, %x: tensor<8x8xf32>) -> tensor<f32> {
  %0 = graph.einsum "ab,bc->ac" %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = graph.gather %0, %ids {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<8x8xf32>, tensor<8xi32>) -> tensor<8xf32>
  %2 = graph.reduce sum %1 dims [0] : (tensor<8xf32>) -> tensor<f32>
  graph.yield %2 : tensor<f32>
}

// -----

// expected-error @below {{no argument is a parameter, so there is nothing to train; name the parameters by --params, or give them the attribute p3d.role = "param"}}
graph.program @loss(%x: tensor<f32> {graph.role = "input"}) -> tensor<f32> {
  graph.yield %x : tensor<f32>
}
