// A collective names itself at run time: its reason, what it is, its group. The names stand in the description of the program.
// RUN: p3dc-opt %s -p3d-lower-commands | FileCheck %s

// CHECK: p3d_program
// CHECK-SAME: sums: all_reduce over tp
// CHECK-SAME: rows: all_gather over tp
// CHECK-SAME: shards: reduce_scatter over dp
// CHECK-SAME: turn: all_to_all over tp
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  exec.program @stage0 index 0 slots [1] arena 192 zero 0 at 0 attributes {order = ["F0"]} {
    exec.slab @kept bytes 192 copies 1 at [0]
    exec.buffer activation @x in @kept at 0 : memref<4x8xf32> of f32
    exec.buffer activation @v in @kept at 128 : memref<2x8xf32> of f32
    exec.task forward scratch 0 at 192 {
      %x = exec.address @x : memref<4x8xf32>
      %v = exec.address @v : memref<2x8xf32>
      exec.all_reduce sum %x over tp 0 of f32 why "sums" : memref<4x8xf32>
      exec.all_gather(%v) -> (%x) dim 0 over tp of f32 why "rows" : (memref<2x8xf32>) -> memref<4x8xf32>
      exec.reduce_scatter sum(%x) -> (%v) dim 0 over dp of f32 why "shards" : (memref<4x8xf32>) -> memref<2x8xf32>
      exec.all_to_all(%v) -> (%x) shape [4, 8] gather 0 split 1 over tp of f32 why "turn" : (memref<2x8xf32>) -> memref<4x8xf32>
    }
  }
}
