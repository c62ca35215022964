// RUN: p3dc-opt %s -split-input-file -pass-pipeline='builtin.module(graph.program(p3d-simplify-graph))' | FileCheck %s

// A chain of broadcasts is one; x * 1 is x; max(x, -inf) is x.
// CHECK-LABEL: graph.program @loss
// CHECK-NEXT: %[[B:.*]] = graph.broadcast %arg0 dims [1] : (tensor<4xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: graph.yield %[[B]]
graph.program @loss(%b: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = graph.broadcast %b dims [1] : (tensor<4xf32>) -> tensor<1x4xf32>
  %1 = graph.broadcast %0 dims [0, 1] : (tensor<1x4xf32>) -> tensor<8x4xf32>
  %2 = graph.constant dense<1.0> : tensor<f32>
  %3 = graph.broadcast %2 dims [] : (tensor<f32>) -> tensor<8x4xf32>
  %4 = graph.mul %1, %3 : tensor<8x4xf32>
  %5 = graph.constant dense<0xFF800000> : tensor<8x4xf32>
  %6 = graph.max %5, %4 : tensor<8x4xf32>
  graph.yield %6 : tensor<8x4xf32>
}

// -----

// Transposes become letters.
// CHECK-LABEL: graph.program @loss
// CHECK-NEXT: %[[E:.*]] = graph.einsum "ab,cb->ca" %arg0, %arg1 : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: graph.yield %[[E]]
graph.program @loss(%x: tensor<8x4xf32>, %w: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %0 = graph.transpose %w [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = graph.einsum "ab,bc->ac" %x, %0 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %2 = graph.transpose %1 [1, 0] : (tensor<8x2xf32>) -> tensor<2x8xf32>
  graph.yield %2 : tensor<2x8xf32>
}

// -----

// Batch and sequence, flattened around a product, stay dimensions of their own.
// CHECK-LABEL: graph.program @loss
// CHECK-NEXT: %[[E:.*]] = graph.einsum "abc,cd->abd" %arg0, %arg1 : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: %[[B:.*]] = graph.broadcast %arg2 dims [2] : (tensor<5xf32>) -> tensor<2x3x5xf32>
// CHECK-NEXT: %[[S:.*]] = graph.add %[[E]], %[[B]]
// CHECK-NEXT: graph.yield %[[S]]
graph.program @loss(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = graph.einsum "ab,bc->ac" %0, %w : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %2 = graph.broadcast %b dims [1] : (tensor<5xf32>) -> tensor<6x5xf32>
  %3 = graph.add %1, %2 : tensor<6x5xf32>
  %4 = graph.reshape %3 : (tensor<6x5xf32>) -> tensor<2x3x5xf32>
  graph.yield %4 : tensor<2x3x5xf32>
}

// -----

// A narrowing conversion is kept, a widening one and back is not.
// CHECK-LABEL: graph.program @loss
// CHECK-NEXT: %[[N:.*]] = graph.convert %arg0 : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT: %[[W:.*]] = graph.convert %[[N]] : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT: graph.yield %[[W]], %arg1
graph.program @loss(%x: tensor<4xf32>, %y: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>) {
  %0 = graph.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = graph.convert %0 : (tensor<4xbf16>) -> tensor<4xf32>
  %2 = graph.convert %y : (tensor<4xbf16>) -> tensor<4xf32>
  %3 = graph.convert %2 : (tensor<4xf32>) -> tensor<4xbf16>
  graph.yield %1, %3 : tensor<4xf32>, tensor<4xbf16>
}
