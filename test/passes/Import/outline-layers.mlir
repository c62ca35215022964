// RUN: p3dc-opt %s -split-input-file -pass-pipeline='builtin.module(p3d-outline-layers,p3d-verify-import)' | FileCheck %s

// Layers alike but for sizes are layers, each of its own block; the head's part is the last block.
// CHECK: graph.block @layer(%arg0: tensor<4x6xf32>, %arg1: tensor<8x4xf32>) -> tensor<8x6xf32>
// CHECK: graph.block @layer_1(%arg0: tensor<8x6xf32>, %arg1: tensor<6x6xf32>) -> tensor<8x6xf32>
// CHECK: graph.block @last(%arg0: tensor<8x6xf32>, %arg1: tensor<f32>) -> tensor<f32>
// The sum of the mask over the batch does not depend on parameters: it is complete before the first microbatch.
// CHECK: graph.program @loss
// CHECK-NEXT: %[[N:.*]] = graph.reduce {{ *}}sum %arg4 dims [0]
// CHECK-NEXT: %[[A:.*]] = graph.call @layer(%arg1, %arg0) {layer = 0 : i64}
// CHECK-NEXT: %[[B:.*]] = graph.call @layer_1(%[[A]], %arg2) {layer = 1 : i64}
// CHECK-NEXT: %[[C:.*]] = graph.call @layer_1(%[[B]], %arg3) {layer = 2 : i64}
// CHECK-NEXT: %[[L:.*]] = graph.call @last(%[[C]], %[[N]])
// CHECK-NEXT: graph.yield %[[L]]
graph.program @loss(%x: tensor<8x4xf32> {graph.name = "batch.x", graph.role = "input"},
                    %w0: tensor<4x6xf32> {graph.name = "params.w0", graph.role = "param"},
                    %w1: tensor<6x6xf32> {graph.name = "params.w1", graph.role = "param"},
                    %w2: tensor<6x6xf32> {graph.name = "params.w2", graph.role = "param"},
                    %m: tensor<8xf32> {graph.name = "batch.mask", graph.role = "input"}) -> tensor<f32> {
  %n = graph.reduce sum %m dims [0] : (tensor<8xf32>) -> tensor<f32>
  %0 = graph.einsum "ab,bc->ac" %x, %w0 : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = graph.tanh %0 : tensor<8x6xf32>
  %2 = graph.einsum "ab,bc->ac" %1, %w1 : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %3 = graph.tanh %2 : tensor<8x6xf32>
  %4 = graph.einsum "ab,bc->ac" %3, %w2 : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %5 = graph.tanh %4 : tensor<8x6xf32>
  %6 = graph.reduce sum %5 dims [0, 1] : (tensor<8x6xf32>) -> tensor<f32>
  %7 = graph.div %6, %n : tensor<f32>
  graph.yield %7 : tensor<f32>
}
