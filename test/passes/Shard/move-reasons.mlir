// Each move says why, in the words of the model.
// RUN: p3dc-opt %s -split-input-file -p3d-propagate-shardings="tp=2" -p3d-verify-shardings | FileCheck %s

// A running sum along the cut dimension needs all of it; what follows works on parts again.
sdy.mesh @mesh = <["model"=2]>
// CHECK: dist.reshard %{{.*}} why "a running sum (params.w) needs all of params.w, which tp cuts along dimension 0 of params.w" {dist.parameters = ["params.w"], dist.remedy = "tp=1"
// CHECK: dist.reshard %{{.*}} why "a multiplication (params.w) works on a part of the result of a running sum (params.w)" {dist.shardings
graph.program @loss(%w: tensor<64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}]>}) -> tensor<f32> {
  %c = graph.cumulative sum %w {dim = 0 : i64} : tensor<64xf32>
  %m = graph.mul %c, %w : tensor<64xf32>
  %s = graph.reduce sum %m dims [0] : (tensor<64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}

// -----

// What is whole, for the update of a parameter that is cut; a sum that no product makes.
sdy.mesh @mesh = <["model"=2]>
// CHECK-LABEL: graph.program @update
// CHECK: dist.reshard %{{.*}} why "the update of params.w works on a part of the result of a running sum (params.w)"
// CHECK: dist.reshard %{{.*}} why "a reduction over a dimension that tp cuts leaves a partial sum; exp needs it whole" {dist.remedy = "tp=1"
graph.program @update(%w: tensor<64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}]>}) -> tensor<f32> {
  %c = graph.cumulative sum %w {dim = 0 : i64} : tensor<64xf32>
  %m = graph.neg %w : tensor<64xf32>
  %s = graph.reduce sum %m dims [0] : (tensor<64xf32>) -> tensor<f32>
  %e = graph.exp %s : tensor<f32>
  graph.update "sgd" %w, %c : tensor<64xf32>, tensor<64xf32>
  graph.yield %e : tensor<f32>
}
