// Products whose commands do what surrounds them: a bias, the gelu or its derivative, the sums that are the bias's gradient.
// RUN: p3dc-opt %s -p3d-bufferize="epilogues=true" | FileCheck %s
// RUN: p3dc-opt %s -p3d-bufferize | FileCheck %s --check-prefix=PLAIN
// PLAIN-NOT: then

// The documented example: the sum is kept for the backward pass.
// CHECK-LABEL: exec.function @forward
// CHECK-SAME: (%[[X:.*]]: memref<4x8xf32>, %[[W:.*]]: memref<8x16xf32>, %[[B:.*]]: memref<16xf32>, %[[A:.*]]: memref<4x16xf32>, %[[S:.*]]: memref<4x16xf32>)
// CHECK-NEXT: exec.einsum "bd,df->bf"(%[[X]], %[[W]], %[[B]]) -> (%[[A]], %[[S]]) then bias_gelu
// CHECK-NEXT: }
graph.block @forward(%x: tensor<4x8xf32>, %up: tensor<8x16xf32>, %b: tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %h = graph.einsum "bd,df->bf" %x, %up : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %bb = graph.broadcast %b dims [1] : (tensor<16xf32>) -> tensor<4x16xf32>
  %s = graph.add %h, %bb : tensor<4x16xf32>
  %a = graph.gelu tanh %s : tensor<4x16xf32>
  graph.yield %a, %s : tensor<4x16xf32>, tensor<4x16xf32>
}

// Nobody keeps the sum; the bias is the first operand.
// CHECK-LABEL: exec.function @inference
// CHECK: exec.einsum "bd,df->bf"(%{{.*}}, %{{.*}}, %{{.*}}) -> (%{{[^,]*}}) then bias_gelu
// CHECK-NEXT: }
graph.block @inference(%x: tensor<4x8xf32>, %up: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %h = graph.einsum "bd,df->bf" %x, %up : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %bb = graph.broadcast %b dims [1] : (tensor<16xf32>) -> tensor<4x16xf32>
  %s = graph.add %bb, %h : tensor<4x16xf32>
  %a = graph.gelu tanh %s : tensor<4x16xf32>
  graph.yield %a : tensor<4x16xf32>
}

// The exact gelu is not cuBLASLt's: the bias alone, since the sum has memory.
// CHECK-LABEL: exec.function @exact
// CHECK: exec.einsum {{.*}} then bias :
// CHECK-NEXT: exec.launch @kernel.gelu
graph.block @exact(%x: tensor<4x8xf32>, %up: tensor<8x16xf32>, %b: tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %h = graph.einsum "bd,df->bf" %x, %up : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %bb = graph.broadcast %b dims [1] : (tensor<16xf32>) -> tensor<4x16xf32>
  %s = graph.add %h, %bb : tensor<4x16xf32>
  %a = graph.gelu erf %s : tensor<4x16xf32>
  graph.yield %a, %s : tensor<4x16xf32>, tensor<4x16xf32>
}

// A bias along the first dimension, and one that a larger kernel adds anyway.
// CHECK-LABEL: exec.function @none
// CHECK-NOT: then
graph.block @none(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>, %r: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %bb = graph.broadcast %b dims [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %s = graph.add %h, %bb : tensor<8x8xf32>
  %g = graph.einsum "bd,df->bf" %r, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %bc = graph.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %t = graph.add %g, %bc : tensor<8x8xf32>
  %u = graph.add %t, %r : tensor<8x8xf32>
  graph.yield %s, %u : tensor<8x8xf32>, tensor<8x8xf32>
}

// The derivative with the bias's gradient, and a gradient that comes with the weight's: %dy's rows are what that sums over.
// CHECK-LABEL: exec.function @backward
// CHECK-SAME: (%[[DY:.*]]: memref<2x4x8xf32>, %[[DOWN:.*]]: memref<16x8xf32>, %[[S:.*]]: memref<2x4x16xf32>, %[[A:.*]]: memref<2x4x16xf32>, %[[DS:.*]]: memref<2x4x16xf32>, %[[DB:.*]]: memref<16xf32>, %[[DC:.*]]: memref<8xf32>, %[[DW:.*]]: memref<16x8xf32>)
// CHECK-NEXT: exec.einsum "sbd,sbf->fd"(%[[DY]], %[[A]]) -> (%[[DW]], %[[DC]]) then sum_lhs
// CHECK-NEXT: exec.einsum "sbd,fd->sbf"(%[[DY]], %[[DOWN]], %[[S]]) -> (%[[DS]], %[[DB]]) then gelu_grad
// CHECK-NEXT: }
graph.block @backward(%dy: tensor<2x4x8xf32>, %down: tensor<16x8xf32>, %s: tensor<2x4x16xf32>, %a: tensor<2x4x16xf32>)
    -> (tensor<2x4x16xf32>, tensor<16xf32>, tensor<8xf32>, tensor<16x8xf32>) {
  %dc = graph.reduce sum %dy dims [0, 1] : (tensor<2x4x8xf32>) -> tensor<8xf32>
  %dw = graph.einsum "sbd,sbf->fd" %dy, %a : (tensor<2x4x8xf32>, tensor<2x4x16xf32>) -> tensor<16x8xf32>
  %da = graph.einsum "sbd,fd->sbf" %dy, %down : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %ds = graph.gelu_grad tanh %da, %s : tensor<2x4x16xf32>
  %db = graph.reduce sum %ds dims [0, 1] : (tensor<2x4x16xf32>) -> tensor<16xf32>
  graph.yield %ds, %db, %dc, %dw : tensor<2x4x16xf32>, tensor<16xf32>, tensor<8xf32>, tensor<16x8xf32>
}

// A sum over fewer rows than the product's, and one that is wanted before the product.
// CHECK-LABEL: exec.function @otherSums
// CHECK-NOT: then
graph.block @otherSums(%dy: tensor<2x4x8xf32>, %a: tensor<2x4x16xf32>) -> (tensor<4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) {
  %dc = graph.reduce sum %dy dims [0] : (tensor<2x4x8xf32>) -> tensor<4x8xf32>
  %da = graph.reduce sum %a dims [0, 1] : (tensor<2x4x16xf32>) -> tensor<16xf32>
  %n = graph.neg %da : tensor<16xf32>
  %dw = graph.einsum "sbd,sbf->fd" %dy, %a : (tensor<2x4x8xf32>, tensor<2x4x16xf32>) -> tensor<16x8xf32>
  graph.yield %dc, %dw, %n : tensor<4x8xf32>, tensor<16x8xf32>, tensor<16xf32>
}

// Gradients of 16 bits that are summed in f32: only a product that is summed there as well makes the bias's, not the one whose result is rounded.
// CHECK-LABEL: exec.program @stage0
// CHECK-DAG: %[[DX:.*]] = exec.temporary : memref<4x8xbf16>
// CHECK-DAG: %[[GW:.*]] = exec.address @gw
// CHECK-DAG: %[[GB:.*]] = exec.address @gb
// CHECK: exec.einsum "bd,fd->bf"(%{{.*}}, %{{.*}}, %{{.*}}) -> (%[[DX]]) then gelu_grad :
// CHECK-NOT: exec.launch
// CHECK: exec.einsum "bf,bd->fd"(%[[DX]], %{{.*}}) -> (%[[GW]], %[[GB]]) adds then sum_lhs adds_sums :
// CHECK-NOT: exec.launch
pipe.stage @stage0 index 0 layers [0, 0] attributes {slots = array<i64: 2>, order = ["F0", "F1"]} {
  pipe.buffer parameter @w : tensor<8x8xbf16>
  pipe.buffer parameter @b : tensor<8xbf16>
  pipe.buffer activation @dy : tensor<4x8xbf16>
  pipe.buffer activation @s : tensor<4x8xbf16>
  pipe.buffer gradient @gw : tensor<8x8xf32> {pipe.of = @w}
  pipe.buffer gradient @gb : tensor<8xf32> {pipe.of = @b}
  pipe.task backward {
    %w = pipe.read @w : tensor<8x8xbf16>
    %dy = pipe.read @dy : tensor<4x8xbf16>
    %s = pipe.read @s : tensor<4x8xbf16>
    %da = graph.einsum "bd,fd->bf" %dy, %w : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
    %dx = graph.gelu_grad tanh %da, %s : tensor<4x8xbf16>
    %db = graph.reduce sum %dx dims [0] : (tensor<4x8xbf16>) -> tensor<8xbf16>
    %dw = graph.einsum "bf,bd->fd" %dx, %dy : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<8x8xbf16>
    pipe.accumulate %db into @gb : tensor<8xbf16>
    pipe.accumulate %dw into @gw : tensor<8x8xbf16>
  }
}
