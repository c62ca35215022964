// Kernels that do not depend on each other are launched together.
// RUN: p3dc-opt %s -p3d-join-launches | FileCheck %s

module {
// CHECK-NOT: @kernel.neg(
// CHECK: func.func private @kernel.pair(
func.func private @kernel.neg(%x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<16xf32>) outs(%y : memref<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  }
  return
}
func.func private @kernel.mul.1(%x: memref<8xf32> {llvm.noalias}, %start: i64, %y: memref<8xf32> {llvm.noalias}) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.mulf %in, %in : f32
    linalg.yield %n : f32
  }
  return
}
func.func private @kernel.pair(%x: memref<16xf32>, %y: memref<16xf32>) { return }

// Past a product with which it has nothing in common; what it needs to know of its places comes along.
// CHECK-LABEL: exec.function @apart
// CHECK: %[[V:.*]] = exec.view
// CHECK: %[[S:.*]] = exec.start
// CHECK: exec.launch @[[BOTH:kernel.neg_mul]](%arg0, %[[V]]) starts %[[S]] -> (%arg2, %arg3)
// CHECK-NEXT: exec.einsum
// CHECK-NEXT: }
exec.function @apart(%a: memref<16xf32>, %b: memref<16xf32>, %x: memref<16xf32>, %y: memref<8xf32>, %z: memref<16xf32>) attributes {outs = 3 : i64} {
  exec.launch @kernel.neg(%a) -> (%x) : (memref<16xf32>) -> memref<16xf32>
  exec.einsum "a,a->a" (%a, %b) -> (%z) : (memref<16xf32>, memref<16xf32>) -> memref<16xf32>
  %v = exec.view %b : memref<16xf32> to memref<8xf32>
  %s = exec.start [#dist<axis mb>] chunk 1
  exec.launch @kernel.mul.1(%v) starts %s -> (%y) : (memref<8xf32>) -> memref<8xf32>
}

// What reads a result stays behind; nothing passes a collective; what adds is not joined with what does not.
// CHECK-LABEL: exec.function @ordered
// CHECK: exec.launch @kernel.pair(%arg0) -> (%arg1)
// CHECK-NEXT: exec.launch @kernel.pair(%arg1) -> (%arg2)
// CHECK-NEXT: exec.all_reduce
// CHECK-NEXT: exec.launch @kernel.pair(%arg0) -> (%arg3)
// CHECK-NEXT: exec.launch @kernel.pair(%arg0) -> (%arg4) adds
exec.function @ordered(%a: memref<16xf32>, %x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>, %w: memref<16xf32>) attributes {outs = 4 : i64} {
  exec.launch @kernel.pair(%a) -> (%x) : (memref<16xf32>) -> memref<16xf32>
  exec.launch @kernel.pair(%x) -> (%y) : (memref<16xf32>) -> memref<16xf32>
  exec.all_reduce sum %x over tp 0 of f32 why "" : memref<16xf32>
  exec.launch @kernel.pair(%a) -> (%z) : (memref<16xf32>) -> memref<16xf32>
  exec.launch @kernel.pair(%a) -> (%w) adds : (memref<16xf32>) -> memref<16xf32>
}

// CHECK: func.func private @[[BOTH]](%[[A:.*]]: memref<16xf32> {llvm.noalias}, %[[B:.*]]: memref<8xf32> {llvm.noalias}, %{{.*}}: i64, %[[X:.*]]: memref<16xf32> {llvm.noalias}, %[[Y:.*]]: memref<8xf32> {llvm.noalias})
// CHECK: linalg.generic {{.*}} ins(%[[A]] {{.*}} outs(%[[X]]
// CHECK: arith.negf
// CHECK: linalg.generic {{.*}} ins(%[[B]] {{.*}} outs(%[[Y]]
// CHECK: arith.mulf
}
