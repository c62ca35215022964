// Generated kernels as GPU functions.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-map-kernels | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
#both = affine_map<(d0, d1) -> (d0, d1)>

// CHECK: gpu.module @kernels attributes {p3d.launches = {kernel.columns = array<i64: 4, 256>, kernel.cos = array<i64: 1, 32>, kernel.cumulative = array<i64: 1, 32>, kernel.reduce = array<i64: 2, 256>, kernel.rows = array<i64: 2, 256>, kernel.tanh = array<i64: 2, 256>}}

// A thread for each result; the last block is not full.
// CHECK: gpu.func @kernel.tanh(%[[X:.*]]: memref<300xf32>, %[[Y:.*]]: memref<300xf32>) kernel
// CHECK-DAG: %[[BLOCK:.*]] = gpu.block_id x
// CHECK-DAG: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c256
// CHECK: %[[I:.*]] = arith.addi %[[FIRST]], %[[THREAD]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[I]], %c300
// CHECK: scf.if %[[INSIDE]]
// CHECK: memref.load %[[X]][%[[I]]]
// CHECK: math.tanh
// CHECK: memref.store %{{.*}}, %[[Y]][%[[I]]]
func.func private @kernel.tanh(%x: memref<300xf32>, %y: memref<300xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<300xf32>) outs(%y : memref<300xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.tanh %in : f32
    linalg.yield %0 : f32
  }
  return
}

// A long sum of few results: a block for each, and a tree.
// CHECK: gpu.func @kernel.reduce({{.*}}) workgroup(%[[SUMS:.*]] : memref<256xf32, #gpu.address_space<workgroup>>) kernel
// CHECK: scf.for %{{.*}} = %{{.*}} to %c4096{{.*}} step %c256
// CHECK-COUNT-8: gpu.barrier
func.func private @kernel.reduce(%x: memref<8192xf32>, %y: memref<2xf32>) {
  %rows = memref.reinterpret_cast %x to offset: [0], sizes: [2, 4096], strides: [4096, 1] : memref<8192xf32> to memref<2x4096xf32, strided<[4096, 1]>>
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<2xf32>)
  linalg.generic {indexing_maps = [#both, #first], iterator_types = ["parallel", "reduction"]} ins(%rows : memref<2x4096xf32, strided<[4096, 1]>>) outs(%y : memref<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// A long sum down the columns, added to what the memory holds: a warp reads a row.
// CHECK: gpu.func @kernel.columns(%[[X:.*]]: memref<25600xf32>, %[[Y:.*]]: memref<100xf32>) workgroup
// CHECK: scf.for %{{.*}} = %{{.*}} to %c256{{.*}} step %c8
// CHECK-COUNT-3: gpu.barrier
// CHECK: arith.andi
// CHECK: memref.load %[[Y]]
// CHECK: memref.store %{{.*}}, %[[Y]]
func.func private @kernel.columns(%x: memref<25600xf32>, %y: memref<100xf32>) {
  %rows = memref.reinterpret_cast %x to offset: [0], sizes: [256, 100], strides: [100, 1] : memref<25600xf32> to memref<256x100xf32, strided<[100, 1]>>
  linalg.generic {indexing_maps = [#both, #second], iterator_types = ["reduction", "parallel"]} ins(%rows : memref<256x100xf32, strided<[100, 1]>>) outs(%y : memref<100xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// A short one: each thread sums, from what the memory holds.
// CHECK: gpu.func @kernel.rows(
// CHECK: %[[START:.*]] = memref.load
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[START]])
// CHECK: memref.store %[[SUM]]
func.func private @kernel.rows(%x: memref<1200xf32>, %y: memref<300xf32>) {
  %rows = memref.reinterpret_cast %x to offset: [0], sizes: [300, 4], strides: [4, 1] : memref<1200xf32> to memref<300x4xf32, strided<[4, 1]>>
  linalg.generic {indexing_maps = [#both, #first], iterator_types = ["parallel", "reduction"]} ins(%rows : memref<300x4xf32, strided<[4, 1]>>) outs(%y : memref<300xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}

// Functions of the C library are those of the device.
// CHECK: gpu.func @kernel.cos(
// CHECK: call @__nv_cosf
// CHECK: call @__nv_expm1f
func.func private @expm1f(f32) -> f32
func.func private @cosf(f32) -> f32
func.func private @kernel.cos(%x: memref<8xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = func.call @cosf(%in) : (f32) -> f32
    %1 = func.call @expm1f(%0) : (f32) -> f32
    linalg.yield %1 : f32
  }
  return
}

// Running sums: a thread for each row.
// CHECK: gpu.func @kernel.cumulative(
// CHECK-NOT: scf.for
// CHECK: scf.for {{.*}} iter_args
func.func private @kernel.cumulative(%x: memref<32xf32>, %y: memref<32xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c4 = arith.constant 4 : index
  scf.for %row = %c0 to %c8 step %c1 {
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%before = %zero) -> (f32) {
      %first = arith.muli %row, %c4 : index
      %at = arith.addi %first, %i : index
      %in = memref.load %x[%at] : memref<32xf32>
      %next = arith.addf %before, %in : f32
      memref.store %next, %y[%at] : memref<32xf32>
      scf.yield %next : f32
    }
  }
  return
}

// -----

// expected-error @below {{holds neither a linalg.generic nor a loop; expected a kernel of the memory level}}
func.func private @kernel.nothing(%x: memref<8xf32>) {
  return
}
