// Every operation of exec, printed and read again.
// RUN: p3dc-opt %s | p3dc-opt | FileCheck %s

func.func private @kernel.add(%x: memref<32xf32>, %start: i64, %y: memref<32xf32>) { return }

// CHECK-LABEL: exec.function @layer
// CHECK-SAME: outs = 1
exec.function @layer(%x: memref<4x8xf32>, %w: memref<8x8xf32>, %y: memref<4x8xf32>) attributes {outs = 1 : i64, scratch_bytes = 256 : i64} {
  // CHECK: exec.temporary at 0 : memref<4x8xf32>
  %h = exec.temporary at 0 : memref<4x8xf32>
  // CHECK: exec.temporary at 128 : memref<4xf32>
  %s = exec.temporary at 128 : memref<4xf32>
  // CHECK: exec.einsum "bd,df->bf"(%{{.*}}, %{{.*}}) -> (%{{.*}})
  exec.einsum "bd,df->bf"(%x, %w) -> (%h) : (memref<4x8xf32>, memref<8x8xf32>) -> memref<4x8xf32>
  // CHECK: exec.einsum {{.*}} -> (%{{.*}}) adds :
  exec.einsum "bd,df->bf"(%x, %w) -> (%h) adds : (memref<4x8xf32>, memref<8x8xf32>) -> memref<4x8xf32>
  // CHECK: exec.einsum "bd,df->bf"(%{{.*}}, %{{.*}}, %{{.*}}) -> (%{{.*}}, %{{.*}}) then bias_gelu :
  %v = exec.temporary at 192 : memref<8xf32>
  exec.einsum "bd,df->bf"(%x, %w, %v) -> (%h, %y) then bias_gelu : (memref<4x8xf32>, memref<8x8xf32>, memref<8xf32>) -> (memref<4x8xf32>, memref<4x8xf32>)
  // CHECK: exec.einsum "bd,bf->df"(%{{.*}}, %{{.*}}) -> (%{{.*}}, %{{.*}}) adds then sum_rhs adds_sums :
  exec.einsum "bd,bf->df"(%x, %y) -> (%w, %v) adds then sum_rhs adds_sums : (memref<4x8xf32>, memref<4x8xf32>) -> (memref<8x8xf32>, memref<8xf32>)
  // CHECK: exec.invoke "p3d_cross_entropy_max" [0 : i32](%{{.*}}) starts %{{.*}} -> (%{{.*}}) [4, 8, unit, 15]
  %start = exec.start [#dist<axis tp>] chunk 8
  exec.invoke "p3d_cross_entropy_max" [0 : i32](%h) starts %start -> (%s) [4, 8, unit, 15] : (memref<4x8xf32>) -> memref<4xf32>
  // CHECK: exec.launch @kernel.add(%{{.*}}) starts %{{.*}} -> (%{{.*}}) adds
  exec.launch @kernel.add(%h) starts %start -> (%y) adds : (memref<4x8xf32>) -> memref<4x8xf32>
  // CHECK: exec.all_reduce sum %{{.*}} over tp 0 of f32 why "row-parallel"
  exec.all_reduce sum %y over tp 0 of f32 why "row-parallel" : memref<4x8xf32>
}

// CHECK-LABEL: exec.program @stage0 index 0 slots [2] arena 1024 zero 64 at 256
exec.program @stage0 index 0 slots [2] arena 1024 zero 64 at 256 {
  // CHECK: exec.buffer parameter @w at 0 : memref<8x8xf32> of f32 global tensor<8x16xf32>
  exec.buffer parameter @w at 0 : memref<8x8xf32> of f32 global tensor<8x16xf32>
  // CHECK: exec.buffer result @loss at 256 : memref<f32> of f32
  exec.buffer result @loss at 256 : memref<f32> of f32
  // CHECK: exec.slab @kept_forward_backward bytes 192 copies 2 at [320, 512]
  exec.slab @kept_forward_backward bytes 192 copies 2 at [320, 512]
  // CHECK: exec.slab @sent_forward sends 1 bytes 0 copies 1 at [704]
  exec.slab @sent_forward sends 1 bytes 0 copies 1 at [704]
  // CHECK: exec.buffer activation @x in @kept_forward_backward at 0 : memref<4x8xf32> of f32
  exec.buffer activation @x in @kept_forward_backward at 0 : memref<4x8xf32> of f32
  // CHECK: exec.task forward scratch 256 at 768
  exec.task forward scratch 256 at 768 {
    // CHECK: exec.address @x : memref<4x8xf32>
    %x = exec.address @x : memref<4x8xf32>
    %w = exec.address @w : memref<8x8xf32>
    // CHECK: exec.constant dense<2.000000e+00> : tensor<2x8xf32> : memref<2x8xf32>
    %c = exec.constant dense<2.0> : tensor<2x8xf32> : memref<2x8xf32>
    %mb = exec.start [#dist<axis mb>] chunk 2
    // CHECK: exec.view %{{.*}} from %{{.*}} times 8 : memref<4x8xf32> to memref<2x8xf32>
    %v = exec.view %x from %mb times 8 : memref<4x8xf32> to memref<2x8xf32>
    %t = exec.temporary at 0 : memref<4x8xf32>
    // CHECK: exec.recv %{{.*}} from 1 channel 7 why "dy"
    exec.recv %x from 1 channel 7 why "dy" : memref<4x8xf32>
    // CHECK: exec.call @layer(%{{.*}}, %{{.*}}) -> (%{{.*}}) scratch 128
    exec.call @layer(%x, %w) -> (%t) scratch 128 {layer = 0 : i64} : (memref<4x8xf32>, memref<8x8xf32>) -> memref<4x8xf32>
    // CHECK: exec.all_gather(%{{.*}}) -> (%{{.*}}) dim 0 over tp of f32 why "rows"
    exec.all_gather(%v) -> (%t) dim 0 over tp of f32 why "rows" : (memref<2x8xf32>) -> memref<4x8xf32>
    // CHECK: exec.reduce_scatter sum(%{{.*}}) -> (%{{.*}}) dim 0 over dp of f32 why "shards"
    exec.reduce_scatter sum(%t) -> (%v) dim 0 over dp of f32 why "shards" : (memref<4x8xf32>) -> memref<2x8xf32>
    // CHECK: exec.all_to_all(%{{.*}}) -> (%{{.*}}) shape [4, 8] gather 0 split 1 over tp of f32 why "turn"
    exec.all_to_all(%v) -> (%t) shape [4, 8] gather 0 split 1 over tp of f32 why "turn" : (memref<2x8xf32>) -> memref<4x8xf32>
    // CHECK: exec.send %{{.*}} to 1 channel 8 why "y"
    exec.send %x to 1 channel 8 why "y" : memref<4x8xf32>
  }
  exec.task update {
    // CHECK: exec.update "adamw" @w by @w {decay}
    exec.update "adamw" @w by @w {decay}
  }
}
