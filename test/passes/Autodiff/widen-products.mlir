// Sums that are wanted in f32 are not rounded on the way.
// RUN: p3dc-opt %s -p3d-widen-products | FileCheck %s

// CHECK-LABEL: graph.block @sums
// CHECK-DAG: graph.einsum "ab,ac->bc" %{{.*}} : (tensor<8x4xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
// CHECK-DAG: %[[WIDE:.*]] = graph.convert %{{.*}} : (tensor<8x6xbf16>) -> tensor<8x6xf32>
// CHECK-DAG: graph.reduce sum %[[WIDE]] dims [0] : (tensor<8x6xf32>) -> tensor<6xf32>
// Used twice: rounded for the other use, so for both.
// CHECK-DAG: graph.einsum "ab,cb->ac" %{{.*}} : (tensor<8x6xbf16>, tensor<8x6xbf16>) -> tensor<8x8xbf16>
graph.block @sums(%x: tensor<8x4xbf16>, %d: tensor<8x6xbf16>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<8x8xbf16>, tensor<8x8xf32>) {
  %p = graph.einsum "ab,ac->bc" %x, %d : (tensor<8x4xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
  %g = graph.convert %p : (tensor<4x6xbf16>) -> tensor<4x6xf32>
  %s = graph.reduce sum %d dims [0] : (tensor<8x6xbf16>) -> tensor<6xbf16>
  %t = graph.convert %s : (tensor<6xbf16>) -> tensor<6xf32>
  %q = graph.einsum "ab,cb->ac" %d, %d : (tensor<8x6xbf16>, tensor<8x6xbf16>) -> tensor<8x8xbf16>
  %u = graph.convert %q : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  graph.yield %g, %t, %q, %u : tensor<4x6xf32>, tensor<6xf32>, tensor<8x8xbf16>, tensor<8x8xf32>
}
