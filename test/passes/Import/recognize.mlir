// RUN: p3dc-opt %s -split-input-file -pass-pipeline='builtin.module(graph.program(p3d-recognize-lookups,p3d-recognize-norms,p3d-recognize-activations,p3d-recognize-softmax,p3d-recognize-attention))' | FileCheck %s

// CHECK: graph.embedding %arg0, %arg1 : (tensor<64x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
graph.program @loss(%table: tensor<64x4xf32>, %ids: tensor<8xi32>) -> tensor<8x4xf32> {
  %zero = graph.constant dense<0> : tensor<8xi32>
  %rows = graph.constant dense<64> : tensor<8xi32>
  %0 = graph.compare lt %ids, %zero : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %1 = graph.add %ids, %rows : tensor<8xi32>
  %2 = graph.select %0, %1, %ids : (tensor<8xi1>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %3 = graph.gather %table, %2 {axis = 0 : i64, batch_dims = 0 : i64} : (tensor<64x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
  graph.yield %3 : tensor<8x4xf32>
}

// -----

// CHECK: graph.rms_norm %arg0, %arg1
// CHECK-NOT: graph.rsqrt
graph.program @loss(%x: tensor<8x4xf32>, %s: tensor<4xf32>) -> tensor<8x4xf32> {
  %n = graph.constant dense<4.0> : tensor<8xf32>
  %e = graph.constant dense<1.0e-5> : tensor<8xf32>
  %0 = graph.mul %x, %x : tensor<8x4xf32>
  %1 = graph.reduce sum %0 dims [1] : (tensor<8x4xf32>) -> tensor<8xf32>
  %2 = graph.div %1, %n : tensor<8xf32>
  %3 = graph.add %2, %e : tensor<8xf32>
  %4 = graph.rsqrt %3 : tensor<8xf32>
  %5 = graph.broadcast %4 dims [0] : (tensor<8xf32>) -> tensor<8x4xf32>
  %6 = graph.mul %x, %5 : tensor<8x4xf32>
  %7 = graph.broadcast %s dims [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %8 = graph.mul %6, %7 : tensor<8x4xf32>
  graph.yield %8 : tensor<8x4xf32>
}

// -----

// A mean over the batch is no norm of rows.
// CHECK-NOT: graph.rms_norm
// CHECK: graph.rsqrt
graph.program @loss(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %n = graph.constant dense<4.0> : tensor<4xf32>
  %e = graph.constant dense<1.0e-5> : tensor<4xf32>
  %0 = graph.mul %x, %x : tensor<4x4xf32>
  %1 = graph.reduce sum %0 dims [0] : (tensor<4x4xf32>) -> tensor<4xf32>
  %2 = graph.div %1, %n : tensor<4xf32>
  %3 = graph.add %2, %e : tensor<4xf32>
  %4 = graph.rsqrt %3 : tensor<4xf32>
  %5 = graph.broadcast %4 dims [1] : (tensor<4xf32>) -> tensor<4x4xf32>
  %6 = graph.mul %x, %5 : tensor<4x4xf32>
  graph.yield %6 : tensor<4x4xf32>
}

// -----

// CHECK: graph.swiglu %arg0, %arg1
graph.program @loss(%g: tensor<8x4xf32>, %u: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %one = graph.constant dense<1.0> : tensor<8x4xf32>
  %0 = graph.neg %g : tensor<8x4xf32>
  %1 = graph.exp %0 : tensor<8x4xf32>
  %2 = graph.add %one, %1 : tensor<8x4xf32>
  %3 = graph.div %one, %2 : tensor<8x4xf32>
  %4 = graph.mul %g, %3 : tensor<8x4xf32>
  %5 = graph.mul %4, %u : tensor<8x4xf32>
  graph.yield %5 : tensor<8x4xf32>
}

// -----

// CHECK: graph.gelu {{ *}}erf %arg0
graph.program @loss(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %half = graph.constant dense<0.5> : tensor<8x4xf32>
  %root = graph.constant dense<0.707106769> : tensor<8x4xf32>
  %0 = graph.mul %half, %x : tensor<8x4xf32>
  %1 = graph.neg %x : tensor<8x4xf32>
  %2 = graph.mul %1, %root : tensor<8x4xf32>
  %3 = graph.erfc %2 : tensor<8x4xf32>
  %4 = graph.mul %0, %3 : tensor<8x4xf32>
  graph.yield %4 : tensor<8x4xf32>
}

// -----

// Causal attention; positions ahead get -inf.
// CHECK: graph.attention %arg0, %arg1, %arg2 {causal, masked_value = 0xFFF0000000000000 : f64, scale = 5.000000e-01 : f64}
// CHECK-NOT: graph.softmax
graph.program @loss(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32> {
  %i = graph.iota {dim = 0 : i64} : tensor<8x8xi32>
  %j = graph.iota {dim = 1 : i64} : tensor<8x8xi32>
  %c = graph.compare ge %i, %j : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %p = graph.broadcast %c dims [2, 3] : (tensor<8x8xi1>) -> tensor<2x3x8x8xi1>
  %half = graph.constant dense<0.5> : tensor<2x3x8x8xf32>
  %low = graph.constant dense<0xFF800000> : tensor<2x3x8x8xf32>
  %0 = graph.einsum "abcd,aecd->acbe" %q, %k : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>) -> tensor<2x3x8x8xf32>
  %1 = graph.mul %0, %half : tensor<2x3x8x8xf32>
  %2 = graph.select %p, %1, %low : (tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
  %3 = graph.softmax %2 : tensor<2x3x8x8xf32>
  %4 = graph.einsum "abcd,adbe->acbe" %3, %v : (tensor<2x3x8x8xf32>, tensor<2x8x3x4xf32>) -> tensor<2x8x3x4xf32>
  graph.yield %4 : tensor<2x8x3x4xf32>
}
