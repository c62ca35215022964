// A running sum along the cut dimension needs all of it; what follows works on parts again. Each move says why.
// RUN: p3dc-opt %s -p3d-propagate-shardings="tp=2" -p3d-verify-shardings | FileCheck %s

sdy.mesh @mesh = <["model"=2]>
// CHECK: dist.reshard %{{.*}} why "graph.cumulative needs all parts of an argument"
// CHECK: dist.reshard %{{.*}} why "graph.mul works on a part of graph.cumulative"
graph.program @loss(%w: tensor<64xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}]>}) -> tensor<f32> {
  %c = graph.cumulative sum %w {dim = 0 : i64} : tensor<64xf32>
  %m = graph.mul %c, %w : tensor<64xf32>
  %s = graph.reduce sum %m dims [0] : (tensor<64xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
