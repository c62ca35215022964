// A value that is gathered for one use is not gathered again behind what element-wise operations make of it.
// RUN: p3dc-opt %s -p3d-share-gathers -p3d-verify-shardings | FileCheck %s

// CHECK-LABEL: graph.block @again
// CHECK: %[[W:.*]] = dist.reshard %arg0 {{.*}} to <[{},{}]>
// CHECK-NOT: dist.reshard
// CHECK: %[[M:.*]] = graph.broadcast %arg1 {{.*}}#dist.sharding<[{},{}]>
// CHECK: %[[Z:.*]] = graph.constant {{.*}}#dist.sharding<[{},{}]>
// CHECK: %[[S:.*]] = graph.select %[[M]], %[[W]], %[[Z]] {{.*}}#dist.sharding<[{},{}]>
// CHECK: graph.add %[[W]], %[[S]]
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
graph.block @again(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<[{tp:2},{}]>}, %m: tensor<4xi1> {dist.sharding = #dist.sharding<[{}]>})
    -> (tensor<4x8xf32> {dist.sharding = #dist.sharding<[{},{}]>}) {
  %w = dist.reshard %x from <[{tp:2},{}]> to <[{},{}]> why "a" {dist.shardings = [#dist.sharding<[{},{}]>]} : tensor<4x8xf32>
  %mp = dist.reshard %m from <[{}]> to <[{tp:2}]> why "b" {dist.shardings = [#dist.sharding<[{tp:2}]>]} : tensor<4xi1>
  %mb = graph.broadcast %mp dims [0] {dist.shardings = [#dist.sharding<[{tp:2},{}]>]} : (tensor<4xi1>) -> tensor<4x8xi1>
  %z = graph.constant {dist.shardings = [#dist.sharding<[{tp:2},{}]>]} dense<0.0> : tensor<4x8xf32>
  %s = graph.select %mb, %x, %z {dist.shardings = [#dist.sharding<[{tp:2},{}]>]} : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = dist.reshard %s from <[{tp:2},{}]> to <[{},{}]> why "c" {dist.shardings = [#dist.sharding<[{},{}]>]} : tensor<4x8xf32>
  %r = graph.add %w, %g {dist.shardings = [#dist.sharding<[{},{}]>]} : tensor<4x8xf32>
  graph.yield %r : tensor<4x8xf32>
}

// The other operand is nowhere whole: the sum is gathered, not its parts. Nor is anything repeated where nothing is gathered otherwise.
// CHECK-LABEL: graph.block @needed
// CHECK-COUNT-3: dist.reshard
// CHECK-NOT: dist.reshard
// CHECK: graph.program
graph.block @needed(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:2}]>}, %y: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:2}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>}, tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>}) {
  %w = dist.reshard %x from <[{tp:2}]> to <[{}]> why "a" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  %s = graph.add %x, %y {dist.shardings = [#dist.sharding<[{tp:2}]>]} : tensor<4xf32>
  %g = dist.reshard %s from <[{tp:2}]> to <[{}]> why "b" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  %i = graph.constant {dist.shardings = [#dist.sharding<[{tp:2}]>]} dense<1.0> : tensor<4xf32>
  %n = graph.neg %i {dist.shardings = [#dist.sharding<[{tp:2}]>]} : tensor<4xf32>
  %h = dist.reshard %n from <[{tp:2}]> to <[{}]> why "c" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  %a = graph.add %w, %g {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  graph.yield %a, %h : tensor<4xf32>, tensor<4xf32>
}
graph.program @p(%x: tensor<f32> {dist.sharding = #dist.sharding<[]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<[]>}) {
  graph.yield %x : tensor<f32>
}
}
