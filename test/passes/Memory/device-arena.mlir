// Behind what is planned for the program stand, on a device, the runtime's tables and constants, scratch of the streams tp and dp for collectives whose parts do not
// stand one after the other, and the workspace. What other programs call takes nothing here.
// RUN: p3dc-opt %s -p3d-plan-memory=workspace-bytes=1024 -p3d-verify-memory | FileCheck %s

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 4, mb = 1>} {
  exec.function @used(%x: memref<4x8xf32>, %y: memref<8x4xf32>) attributes {outs = 1 : i64} {
    // A message of 4 x 4 to and from each of two ranks.
    exec.all_to_all (%x) -> (%y) shape [8, 8] gather 0 split 1 over tp of f32 why "" : (memref<4x8xf32>) -> memref<8x4xf32>
    %c = exec.constant dense<1.0> : tensor<100xf32> : memref<100xf32>
  }
  exec.function @unused(%x: memref<512xf32>, %y: memref<2048xf32>) attributes {outs = 1 : i64} {
    exec.all_gather (%x) -> (%y) dim 0 over tp of f32 why "" : (memref<512xf32>) -> memref<2048xf32>
  }
  // Two pieces, two tables of one gradient, and a constant of 400 bytes; two parts of 512 bytes of an inner dimension; four of 64 bytes of 50 elements.
  // CHECK: exec.program {{.*}} arena 6400 {{.*}}exec.runtime_bytes = 1536 : i64, exec.stream_scratch = array<i64: 1024, 256>
  exec.program @stage0 index 0 slots [1] {
    exec.buffer gradient @a : memref<8x4xf32> of f32
    exec.buffer input @d : memref<4x8xf32> of f32
    exec.buffer input @t : memref<50xf32> of f32
    exec.buffer input @v : memref<64xf32> of f32
    exec.buffer result @b : memref<8x32xf32> of f32
    exec.buffer input @c : memref<8x16xf32> of f32
    exec.task forward {
      %a = exec.address @a : memref<8x4xf32>
      %d = exec.address @d : memref<4x8xf32>
      %b = exec.address @b : memref<8x32xf32>
      %c = exec.address @c : memref<8x16xf32>
      exec.call @used(%d) -> (%a) : (memref<4x8xf32>) -> memref<8x4xf32>
      exec.all_gather (%c) -> (%b) dim 1 over tp of f32 why "" : (memref<8x16xf32>) -> memref<8x32xf32>
    }
    exec.task backward {
      %t = exec.address @t : memref<50xf32>
      %u = exec.temporary : memref<16xf32>
      exec.reduce_scatter sum (%t) -> (%u) dim 0 over dp of f32 why "" : (memref<50xf32>) -> memref<16xf32>
      %v = exec.address @v : memref<64xf32>
      %w = exec.temporary : memref<16xf32>
      exec.reduce_scatter sum (%v) -> (%w) dim 0 over dp of f32 why "" : (memref<64xf32>) -> memref<16xf32>
    }
  }
}
