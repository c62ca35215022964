// Small partial values that are ready together are completed together.
// RUN: p3dc-opt %s -p3d-merge-reshards -p3d-verify-shardings -p3d-partition -p3d-verify-partition | FileCheck %s

// The second sum is not needed before the first is there; the third is made of the first; the fourth is a maximum.
// CHECK-LABEL: graph.block @sums
// CHECK: %[[A:.*]] = graph.reshape {{.*}} -> tensor<1x4xf32>
// CHECK: %[[B:.*]] = graph.reshape {{.*}} -> tensor<1x4xf32>
// CHECK: %[[BOTH:.*]] = graph.concat %[[A]], %[[B]] {dim = 0 : i64}
// CHECK: %[[SUMS:.*]] = dist.all_reduce sum %[[BOTH]] over tp why "a; b" : tensor<2x4xf32>
// CHECK: graph.slice %[[SUMS]] [0, 0] to [1, 4]
// CHECK: graph.slice %[[SUMS]] [1, 0] to [2, 4]
// CHECK: dist.all_reduce sum %{{.*}} over tp why "c" : tensor<4xf32>
// CHECK: dist.all_reduce max %{{.*}} over tp why "d" : tensor<4xf32>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
graph.block @sums(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<[{},{tp:4}]>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>}, tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>}, tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>}) {
  %y = graph.tanh %x {dist.shardings = [#dist.sharding<[{},{tp:4}]>]} : tensor<4x8xf32>
  %sx = graph.reduce sum %x dims [1] {dist.shardings = [#dist.sharding<[{}] unreduced{tp}>]} : (tensor<4x8xf32>) -> tensor<4xf32>
  %a = dist.reshard %sx from <[{}] unreduced{tp}> to <[{}]> why "a" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  %sy = graph.reduce sum %y dims [1] {dist.shardings = [#dist.sharding<[{}] unreduced{tp}>]} : (tensor<4x8xf32>) -> tensor<4xf32>
  %b = dist.reshard %sy from <[{}] unreduced{tp}> to <[{}]> why "b" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  %w = graph.broadcast %a dims [0] {dist.shardings = [#dist.sharding<[{},{tp:4}]>]} : (tensor<4xf32>) -> tensor<4x8xf32>
  %z = graph.mul %w, %y {dist.shardings = [#dist.sharding<[{},{tp:4}]>]} : tensor<4x8xf32>
  %sz = graph.reduce sum %z dims [1] {dist.shardings = [#dist.sharding<[{}] unreduced{tp}>]} : (tensor<4x8xf32>) -> tensor<4xf32>
  %c = dist.reshard %sz from <[{}] unreduced{tp}> to <[{}]> why "c" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  %m = graph.reduce max %y dims [1] {dist.shardings = [#dist.sharding<[{}] unreduced{tp} max>]} : (tensor<4x8xf32>) -> tensor<4xf32>
  %d = dist.reshard %m from <[{}] unreduced{tp} max> to <[{}]> why "d" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  %bc = graph.add %b, %c {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  graph.yield %a, %bc, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Large ones stay apart, and gathers: what they bring takes memory.
// CHECK-LABEL: graph.block @apart
// CHECK-NOT: graph.concat
// CHECK-COUNT-2: dist.all_reduce
// CHECK-NOT: graph.concat
// CHECK-COUNT-2: dist.all_gather
graph.block @apart(%x: tensor<8x1024x1024xf32> {dist.sharding = #dist.sharding<[{tp:4},{},{}]>}, %y: tensor<8xf32> {dist.sharding = #dist.sharding<[{tp:4}]>}, %z: tensor<8xf32> {dist.sharding = #dist.sharding<[{tp:4}]>})
    -> (tensor<1024x1024xf32> {dist.sharding = #dist.sharding<[{},{}]>}, tensor<1024x1024xf32> {dist.sharding = #dist.sharding<[{},{}]>},
        tensor<8xf32> {dist.sharding = #dist.sharding<[{}]>}, tensor<8xf32> {dist.sharding = #dist.sharding<[{}]>}) {
  %t = graph.tanh %x {dist.shardings = [#dist.sharding<[{tp:4},{},{}]>]} : tensor<8x1024x1024xf32>
  %sx = graph.reduce sum %x dims [0] {dist.shardings = [#dist.sharding<[{},{}] unreduced{tp}>]} : (tensor<8x1024x1024xf32>) -> tensor<1024x1024xf32>
  %st = graph.reduce sum %t dims [0] {dist.shardings = [#dist.sharding<[{},{}] unreduced{tp}>]} : (tensor<8x1024x1024xf32>) -> tensor<1024x1024xf32>
  %a = dist.reshard %sx from <[{},{}] unreduced{tp}> to <[{},{}]> why "a" {dist.shardings = [#dist.sharding<[{},{}]>]} : tensor<1024x1024xf32>
  %b = dist.reshard %st from <[{},{}] unreduced{tp}> to <[{},{}]> why "b" {dist.shardings = [#dist.sharding<[{},{}]>]} : tensor<1024x1024xf32>
  %c = dist.reshard %y from <[{tp:4}]> to <[{}]> why "c" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<8xf32>
  %d = dist.reshard %z from <[{tp:4}]> to <[{}]> why "d" {dist.shardings = [#dist.sharding<[{}]>]} : tensor<8xf32>
  graph.yield %a, %b, %c, %d : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<8xf32>, tensor<8xf32>
}
graph.program @p(%x: tensor<f32> {dist.sharding = #dist.sharding<[]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<[]>}) {
  graph.yield %x : tensor<f32>
}
}
