// What matrix products contribute is added up first.
// RUN: p3dc-opt %s -p3d-sum-products-first | FileCheck %s

// CHECK-LABEL: graph.block @residual(
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: %[[Q:.*]] = graph.einsum
// CHECK: %[[K:.*]] = graph.einsum
// CHECK: %[[V:.*]] = graph.transpose
// CHECK-NEXT: %[[QK:.*]] = graph.add %[[Q]], %[[K]] {graph.of = 1 : i64}
// CHECK-NEXT: %[[QKV:.*]] = graph.add %[[QK]], %[[V]] {graph.of = 2 : i64}
// CHECK-NEXT: %[[ALL:.*]] = graph.add %[[QKV]], %[[R]] {graph.of = 3 : i64}
// CHECK-NEXT: graph.yield %[[ALL]]
graph.block @residual(%r: tensor<4x8xf32>, %x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %q = graph.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = graph.add %r, %q {graph.of = 1 : i64} : tensor<4x8xf32>
  %k = graph.einsum "bd,fd->bf" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = graph.add %1, %k {graph.of = 2 : i64} : tensor<4x8xf32>
  %t = graph.einsum "bd,df->fb" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x4xf32>
  %v = graph.transpose %t [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %3 = graph.add %2, %v {graph.of = 3 : i64} : tensor<4x8xf32>
  graph.yield %3 : tensor<4x8xf32>
}

// A sum that is used elsewhere stays; one product alone is no reason; nor are products alone.
// CHECK-LABEL: graph.block @others(
// CHECK: %[[S:.*]] = graph.add %arg0, %{{.*}}
// CHECK: %[[T:.*]] = graph.add %[[S]], %{{.*}}
// CHECK: graph.yield %[[S]], %[[T]]
graph.block @others(%r: tensor<4x8xf32>, %x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %q = graph.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = graph.add %r, %q : tensor<4x8xf32>
  %k = graph.einsum "bd,fd->bf" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %t = graph.add %s, %k : tensor<4x8xf32>
  graph.yield %s, %t : tensor<4x8xf32>, tensor<4x8xf32>
}
