// The forms of chlo.
// RUN: p3dc-opt %s | FileCheck %s
// RUN: p3dc-opt %s --mlir-print-op-generic | p3dc-opt | FileCheck %s

// CHECK-LABEL: func @functions
func.func @functions(%x: tensor<4x8xf32>) {
  // CHECK: chlo.square %{{.*}} : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = chlo.square %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: chlo.erf %{{.*}} : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = chlo.erf %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: chlo.erfc %{{.*}} {note = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = chlo.erfc %x {note = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: chlo.erf_inv %{{.*}} : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = chlo.erf_inv %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: chlo.is_inf %{{.*}} : tensor<4x8xf32> -> tensor<4x8xi1>
  %4 = chlo.is_inf %x : tensor<4x8xf32> -> tensor<4x8xi1>
  // CHECK: chlo.top_k(%{{.*}}, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %5, %6 = chlo.top_k(%x, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK: chlo.top_k(%{{.*}}, k = 2, is_stable = true) {note = 1 : i64} : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %7, %8 = chlo.top_k(%x, k = 2, is_stable = true) {note = 1 : i64} : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK: chlo.constant dense<1.000000e+00> : tensor<f32>
  %9 = chlo.constant dense<1.0> : tensor<f32>
  // CHECK: "chlo.constant_like"(%{{.*}}) <{value = 1.000000e+00 : f32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = "chlo.constant_like"(%x) <{value = 1.0 : f32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: chlo.next_after %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %11 = chlo.next_after %x, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func @broadcasting
func.func @broadcasting(%x: tensor<4x8xf32>, %s: tensor<f32>, %p: tensor<i1>) {
  // CHECK: chlo.broadcast_add %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %0 = chlo.broadcast_add %x, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: chlo.broadcast_multiply %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = chlo.broadcast_multiply %x, %s {broadcast_dimensions = array<i64>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: chlo.broadcast_compare %{{.*}}, %{{.*}} {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction LT>} : (
  %2 = chlo.broadcast_compare %x, %s {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xi1>
  // CHECK: chlo.broadcast_select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<i1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = chlo.broadcast_select %p, %x, %s : (tensor<i1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}
