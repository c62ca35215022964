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

// Neighbours that lie side by side in aligned memory: a thread loads, computes and stores 16 bytes of them. What stands still is one scalar.
// CHECK: gpu.module @kernels attributes {p3d.launches = {kernel.shifted = array<i64: 2, 256>, kernel.vector = array<i64: 1, 96>, kernel.wide = array<i64: 1, 32>}}
// CHECK: gpu.func @kernel.vector(%[[X:.*]]: memref<600xi8>, %[[R:.*]]: memref<12xi8>, %[[Y:.*]]: memref<1200xi8>) kernel
// CHECK: memref.view %[[X]]{{.*}} to memref<75xvector<4xbf16>>
// CHECK: memref.load %{{.*}} : memref<75xvector<4xbf16>>
// CHECK-COUNT-4: vector.extract
// CHECK: memref.load %{{.*}} : memref<3xf32
// CHECK-COUNT-4: arith.extf
// CHECK: memref.view %[[Y]]{{.*}} to memref<75xvector<4xf32>>
// CHECK: vector.from_elements
// CHECK: memref.store %{{.*}} : memref<75xvector<4xf32>>
#id = affine_map<(d0) -> (d0)>
#row = affine_map<(d0, d1) -> (d0)>
#both = affine_map<(d0, d1) -> (d0, d1)>
func.func private @kernel.vector(%x: memref<300xbf16>, %r: memref<3xf32>, %y: memref<300xf32>) {
  %xs = memref.reinterpret_cast %x to offset: [0], sizes: [3, 100], strides: [100, 1] : memref<300xbf16> to memref<3x100xbf16, strided<[100, 1]>>
  %ys = memref.reinterpret_cast %y to offset: [0], sizes: [3, 100], strides: [100, 1] : memref<300xf32> to memref<3x100xf32, strided<[100, 1]>>
  linalg.generic {indexing_maps = [#both, #row, #both], iterator_types = ["parallel", "parallel"]} ins(%xs, %r : memref<3x100xbf16, strided<[100, 1]>>, memref<3xf32>) outs(%ys : memref<3x100xf32, strided<[100, 1]>>) {
  ^bb0(%in: bf16, %scale: f32, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    %1 = arith.mulf %0, %scale : f32
    linalg.yield %1 : f32
  }
  return
}

// Results of 2 bytes: 8 of them, and two vectors of the operand. A number of 8 rows aligns the view.
// CHECK: gpu.func @kernel.wide
// CHECK: arith.divui
// CHECK-COUNT-2: memref.load %{{.*}} : memref<64xvector<4xf32>>
// CHECK: memref.store %{{.*}} : memref<16xvector<8xbf16>>
func.func private @kernel.wide(%x: memref<256xf32>, %start: i64, %y: memref<128xbf16>) {
  %at = arith.index_cast %start : i64 to index
  %part = memref.reinterpret_cast %x to offset: [%at], sizes: [128], strides: [1] : memref<256xf32> to memref<128xf32, strided<[1], offset: ?>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%part : memref<128xf32, strided<[1], offset: ?>>) outs(%y : memref<128xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  }
  return
}

// One of its launches gives a view from any element on: a thread for each result.
// CHECK: gpu.func @kernel.shifted(%{{.*}}: memref<512xf32>, %{{.*}}: memref<512xf32>) kernel
// CHECK-NOT: vector
func.func private @kernel.shifted(%x: memref<512xf32>, %y: memref<512xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<512xf32>) outs(%y : memref<512xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  return
}

exec.function @inner(%x: memref<512xf32>, %y: memref<512xf32>) attributes {outs = 1 : i64} {
  exec.launch @kernel.shifted(%x) -> (%y) : (memref<512xf32>) -> memref<512xf32>
}
exec.function @outer(%x: memref<300xbf16>, %r: memref<3xf32>, %y: memref<300xf32>, %long: memref<1024xf32>) attributes {outs = 2 : i64} {
  exec.launch @kernel.vector(%x, %r) -> (%y) : (memref<300xbf16>, memref<3xf32>) -> memref<300xf32>
  %t = exec.temporary : memref<512xf32>
  %start = exec.start [#dist<axis tp>] chunk 1
  %part = exec.view %long from %start times 1 : memref<1024xf32> to memref<512xf32>
  exec.call @inner(%part) -> (%t) : (memref<512xf32>) -> memref<512xf32>
  %in = exec.temporary : memref<256xf32>
  %out = exec.temporary : memref<128xbf16>
  %eighth = exec.start [#dist<axis tp>] chunk 8
  exec.launch @kernel.wide(%in) starts %eighth -> (%out) : (memref<256xf32>) -> memref<128xbf16>
}

// -----

// expected-error @below {{holds neither a linalg.generic nor a loop; expected a kernel of the memory level}}
func.func private @kernel.nothing(%x: memref<8xf32>) {
  return
}

// -----

// A sum of one element each begins with the fill, not with what the memory holds.
// CHECK: gpu.func @kernel.one
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: memref.load %{{.*}} : memref<32xvector<4xf32>>
// CHECK-NOT: memref.load
// CHECK-COUNT-4: arith.addf %[[ZERO]]
// CHECK: memref.store %{{.*}} : memref<32xvector<4xf32>>
#id = affine_map<(d0) -> (d0)>
func.func private @kernel.one(%x: memref<128xf32>, %y: memref<128xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<128xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<128xf32>) outs(%y : memref<128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  return
}
exec.function @call(%x: memref<128xf32>, %y: memref<128xf32>) attributes {outs = 1 : i64} {
  exec.launch @kernel.one(%x) -> (%y) : (memref<128xf32>) -> memref<128xf32>
}
