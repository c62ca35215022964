// A kernel with enough work takes begin and end of its outermost parallel loop with many iterations; sums stay whole.
// RUN: p3dc-opt %s -p3d-split-kernels | FileCheck %s

// CHECK-LABEL: func.func @kernel.tanh(
// CHECK-SAME: %{{.*}}: memref<65536xf32>, %{{.*}}: memref<65536xf32>, %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index)
// CHECK-SAME: attributes {p3d.split = array<i64: 65536, 16384>}
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step
func.func @kernel.tanh(%x: memref<65536xf32>, %y: memref<65536xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<65536xf32>) outs(%y : memref<65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.tanh %in : f32
    linalg.yield %0 : f32
  }
  return
}

// Columns are summed by whoever has them, from the start that the fill gives them: parts of 16 neighbours.
// CHECK-LABEL: func.func @kernel.columns(
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index) attributes {p3d.split = array<i64: 256, 16>}
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step
// CHECK: memref.store
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c2048
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step
// CHECK: arith.addf
func.func @kernel.columns(%x: memref<2048x256xf32>, %y: memref<256xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<256xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<2048x256xf32>) outs(%y : memref<256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// A single sum, and little work, stay as they are.
// CHECK-LABEL: func.func @kernel.sum(
// CHECK-SAME: %{{.*}}: memref<65536xf32>, %{{.*}}: memref<f32>) {
func.func @kernel.sum(%x: memref<65536xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<65536xf32>) outs(%y : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}
// CHECK-LABEL: func.func @kernel.small(
// CHECK-SAME: %{{.*}}: memref<100xf32>, %{{.*}}: memref<100xf32>) {
func.func @kernel.small(%x: memref<100xf32>, %y: memref<100xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<100xf32>) outs(%y : memref<100xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}
