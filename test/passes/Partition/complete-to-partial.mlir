// A complete value becomes partial over the batch: it stays on the first replica, in the first microbatch, and is zero everywhere else. Nothing is rounded.
// RUN: p3dc-opt %s -p3d-partition -p3d-verify-partition | FileCheck %s

// CHECK: %[[ROW:.*]] = graph.reshape %{{.*}} : (tensor<f32>) -> tensor<1xf32>
// CHECK: %[[DP:.*]] = dist.mask_padding %[[ROW]] <dim 0 over {dp} chunk 1 of 1> value 0.000000e+00 : tensor<1xf32>
// CHECK: graph.reshape %[[DP]] : (tensor<1xf32>) -> tensor<f32>
// CHECK: dist.mask_padding %{{.*}} <dim 0 over {mb} chunk 1 of 1> value 0.000000e+00 : tensor<1xf32>
// CHECK: dist.mask_padding %{{.*}} <dim 0 over {dp} chunk 4 of 4> value 0.000000e+00 : tensor<4x3xf32>
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 3>} {
  graph.program @loss(%x: tensor<f32> {dist.sharding = #dist.sharding<[]>}, %y: tensor<4x3xf32> {dist.sharding = #dist.sharding<[{},{}]>})
      -> (tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp,mb}>}, tensor<4x3xf32> {dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>}) {
    %0 = dist.reshard %x from <[]> to <[] unreduced{dp,mb}> why "test" {dist.shardings = [#dist.sharding<[] unreduced{dp,mb}>]} : tensor<f32>
    %1 = dist.reshard %y from <[{},{}]> to <[{},{}] unreduced{dp,mb}> why "test" {dist.shardings = [#dist.sharding<[{},{}] unreduced{dp,mb}>]} : tensor<4x3xf32>
    graph.yield %0, %1 : tensor<f32>, tensor<4x3xf32>
  }
}
