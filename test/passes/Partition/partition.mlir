// The documented example: local shapes, one all-reduce per row-parallel product, microbatches taken from inputs.
// RUN: p3dc-opt %s -p3d-split-prologue -p3d-propagate-shardings="tp=2 dp=2 microbatches=2" -p3d-partition -p3d-verify-partition | FileCheck %s

// CHECK: graph.block @layer(%{{.*}}: tensor<2x16xf32> {{.*}}tensor<16x32xf32>{{.*}}tensor<32x16xf32>
// CHECK: graph.einsum "bf,fd->bd"
// CHECK-NEXT: dist.all_reduce sum {{.*}} over tp
// CHECK-NEXT: = graph.add
// CHECK-NOT: dist.all
// CHECK: graph.block @prologue
// CHECK: dist.all_reduce sum {{.*}} over dp
// CHECK: graph.program @loss
// CHECK: dist.shard_slice %{{.*}} dim 0 over mb : (tensor<4xf32>) -> tensor<2xf32>
// CHECK-NOT: dist.reshard
graph.block @layer(%x: tensor<8x16xf32>, %up: tensor<16x64xf32>, %down: tensor<64x16xf32>) -> tensor<8x16xf32> {
  %h = graph.einsum "bd,df->bf" %x, %up : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.gelu tanh %h : tensor<8x64xf32>
  %o = graph.einsum "bf,fd->bd" %a, %down : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %y = graph.add %x, %o : tensor<8x16xf32>
  graph.yield %y : tensor<8x16xf32>
}
graph.block @last(%y: tensor<8x16xf32>, %t: tensor<8x16xf32>, %mask: tensor<8xf32>, %n: tensor<f32>) -> tensor<f32> {
  %e  = graph.sub %y, %t : tensor<8x16xf32>
  %e2 = graph.mul %e, %e : tensor<8x16xf32>
  %s  = graph.einsum "bd,b->" %e2, %mask : (tensor<8x16xf32>, tensor<8xf32>) -> tensor<f32>
  %l  = graph.div %s, %n : tensor<f32>
  graph.yield %l : tensor<f32>
}
graph.program @loss(%x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input"}, %t: tensor<8x16xf32> {graph.name = "batch.t", graph.role = "input"}, %mask: tensor<8xf32> {graph.name = "batch.mask", graph.role = "input"},
   %u0: tensor<16x64xf32> {graph.name = "params.u0", graph.role = "param"}, %d0: tensor<64x16xf32> {graph.name = "params.d0", graph.role = "param"},
   %u1: tensor<16x64xf32> {graph.name = "params.u1", graph.role = "param"}, %d1: tensor<64x16xf32> {graph.name = "params.d1", graph.role = "param"}) -> (tensor<f32> {graph.name = "loss"}) {
  %y0 = graph.call @layer(%x, %u0, %d0) {layer = 0 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %y1 = graph.call @layer(%y0, %u1, %d1) {layer = 1 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %n  = graph.reduce sum %mask dims [0] : (tensor<8xf32>) -> tensor<f32>
  %l = graph.call @last(%y1, %t, %mask, %n) : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<f32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}
