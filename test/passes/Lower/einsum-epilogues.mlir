// A product with an epilogue is one call: what the epilogue is, the length of its vector, bias, auxiliary matrix and sums, or null.
// RUN: p3dc-opt %s -p3d-lower-cuda | FileCheck %s

// CHECK-LABEL: llvm.func @p3d_block.layer
exec.function @layer(%x: memref<4x8xf32>, %w: memref<8x16xf32>, %b: memref<16xf32>, %y: memref<4x16xf32>, %s: memref<4x16xf32>, %dw: memref<8x16xf32>)
    attributes {outs = 3 : i64, scratch_bytes = 0 : i64} {
  // CHECK: llvm.call @p3d_einsum_epilogue
  exec.einsum "bd,df->bf"(%x, %w, %b) -> (%y, %s) then bias_gelu : (memref<4x8xf32>, memref<8x16xf32>, memref<16xf32>) -> (memref<4x16xf32>, memref<4x16xf32>)
  // CHECK: llvm.call @p3d_einsum_epilogue
  exec.einsum "bd,bf->df"(%x, %y) -> (%dw, %b) adds then sum_rhs adds_sums : (memref<4x8xf32>, memref<4x16xf32>) -> (memref<8x16xf32>, memref<16xf32>)
}
