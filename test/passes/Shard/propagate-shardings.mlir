// The documented example: a column-parallel and a row-parallel product, found without an annotation; the batch cut over dp and microbatches.
// RUN: p3dc-opt %s -p3d-split-prologue -p3d-propagate-shardings="tp=2 dp=2 microbatches=2" -p3d-verify-shardings | FileCheck %s

// CHECK: module attributes {dist.classes = [{axis = "dp", dims = {batch.mask = array<i64: 0>, batch.t = array<i64: 0>, batch.x = array<i64: 0>}, units = 8 : i64}, {{.*}}dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 2>}
// CHECK: graph.block @layer({{.*}}[{dp,mb:2},{}]{{.*}}[{},{tp:32}]{{.*}}[{tp:32},{}]
// CHECK: graph.einsum "bd,df->bf"{{.*}}[{dp,mb:2},{tp:32}]
// CHECK: graph.einsum "bf,fd->bd"{{.*}}[{dp,mb:2},{}] unreduced{tp}
// CHECK: dist.reshard {{.*}} why "row-parallel product of params.d* leaves a partial sum; the addition after it needs it whole" {dist.parameters = ["params.d*"], dist.remedy = "tp=1"
// The loss is a sum over the batch: partial over dp and mb, nothing else.
// CHECK: graph.block @last
// CHECK: graph.div {{.*}}<[] unreduced{dp,mb}>
// The count of the mask is complete before any microbatch.
// CHECK: graph.block @prologue({{.*}}[{dp:4}]
// CHECK: graph.reduce sum {{.*}}unreduced{dp}
// CHECK: dist.reshard {{.*}} from <[] unreduced{dp}> to <[]>
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
