// RUN: p3dc-opt %s -split-input-file -pass-pipeline='builtin.module(graph.program(p3d-sink-slices,p3d-split-parameters))' | FileCheck %s

// A fused projection: its weight and bias become two arguments each.
// CHECK: graph.program @loss(%arg0: tensor<8x4xf32>,
// CHECK-SAME: %arg1: tensor<4x3xf32> {graph.global_shape = array<i64: 4, 6>, graph.name = "params.w", graph.piece_offset = array<i64: 0, 0>, graph.piece_shape = array<i64: 4, 3>, graph.role = "param"},
// CHECK-SAME: %arg2: tensor<4x3xf32> {graph.global_shape = array<i64: 4, 6>, graph.name = "params.w", graph.piece_offset = array<i64: 0, 3>,
// CHECK-SAME: %arg3: tensor<3xf32>
// CHECK-SAME: %arg4: tensor<3xf32>
// CHECK-NOT: graph.slice
// CHECK: graph.einsum "ab,bc->ac" %arg0, %arg1 : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
// CHECK: graph.einsum "ab,bc->ac" %arg0, %arg2 : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
graph.program @loss(%x: tensor<8x4xf32>, %w: tensor<4x6xf32> {graph.name = "params.w", graph.role = "param"},
                    %b: tensor<6xf32> {graph.name = "params.b", graph.role = "param"}) -> tensor<8x3xf32> {
  %0 = graph.einsum "ab,bc->ac" %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = graph.broadcast %b dims [1] : (tensor<6xf32>) -> tensor<8x6xf32>
  %2 = graph.add %0, %1 : tensor<8x6xf32>
  %3 = graph.slice %2 [0, 0] to [8, 3] step [1, 1] : (tensor<8x6xf32>) -> tensor<8x3xf32>
  %4 = graph.slice %2 [0, 3] to [8, 6] step [1, 1] : (tensor<8x6xf32>) -> tensor<8x3xf32>
  %5 = graph.mul %3, %4 : tensor<8x3xf32>
  graph.yield %5 : tensor<8x3xf32>
}

// -----

// A stack of layers: the unit dimension goes.
// CHECK: graph.program @loss(%arg0: tensor<4xf32> {graph.global_shape = array<i64: 2, 4>, graph.name = "params.w", graph.piece_offset = array<i64: 0, 0>, graph.piece_shape = array<i64: 1, 4>,
// CHECK-SAME: %arg1: tensor<4xf32> {graph.global_shape = array<i64: 2, 4>, graph.name = "params.w", graph.piece_offset = array<i64: 1, 0>,
// CHECK-NEXT: graph.mul %arg0, %arg1
graph.program @loss(%w: tensor<2x4xf32> {graph.name = "params.w", graph.role = "param"}) -> tensor<4xf32> {
  %0 = graph.slice %w [0, 0] to [1, 4] step [1, 1] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %1 = graph.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
  %2 = graph.slice %w [1, 0] to [2, 4] step [1, 1] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %3 = graph.reshape %2 : (tensor<1x4xf32>) -> tensor<4xf32>
  %4 = graph.mul %1, %3 : tensor<4xf32>
  graph.yield %4 : tensor<4xf32>
}

// -----

// Slices that overlap stay: the parameter is not used in pieces.
// CHECK: graph.program @loss(%arg0: tensor<4xf32>
// CHECK-COUNT-2: graph.slice
graph.program @loss(%w: tensor<4xf32> {graph.name = "params.w", graph.role = "param"}) -> tensor<3xf32> {
  %0 = graph.slice %w [0] to [3] step [1] : (tensor<4xf32>) -> tensor<3xf32>
  %1 = graph.slice %w [1] to [4] step [1] : (tensor<4xf32>) -> tensor<3xf32>
  %2 = graph.mul %0, %1 : tensor<3xf32>
  graph.yield %2 : tensor<3xf32>
}
