// The sequence cut between matrix products.
// RUN: p3dc-opt %s -p3d-propagate-shardings="tp=2 cut-sequence=on" -p3d-verify-shardings | FileCheck %s

// The partial sums of the embedding are completed in parts of the sequence, which tanh keeps. The product gathers them, in 16 bits, before they are widened.
// The number that each token gives is everywhere; the sequence of the table that all rows share stays whole.
// CHECK-LABEL: graph.program @loss
// CHECK: %[[E:.*]] = graph.embedding {{.*}} unreduced{tp}
// CHECK-NEXT: dist.reshard %[[E]] {{.*}} to <[{},{tp:8},{}]>
// CHECK: graph.tanh {{.*}}#dist.sharding<[{},{tp:8},{}]>
// CHECK: %[[N:.*]] = graph.convert {{.*}}#dist.sharding<[{},{tp:8},{}]>{{.*}} -> tensor<4x16x64xbf16>
// CHECK-NEXT: %[[G:.*]] = dist.reshard %[[N]] from <[{},{tp:8},{}]> to <[{},{},{}]> why "the product with params.u needs all of the result of a conversion, which tp cuts along the sequence" {dist.parameters = ["params.u"], dist.remedy = "tp=1; --sequence-parallel=off"
// CHECK-NEXT: %[[W:.*]] = graph.convert %[[G]] {{.*}} : (tensor<4x16x64xbf16>) -> tensor<4x16x64xf32>
// CHECK: graph.einsum "abc,cd->abd" %[[W]], {{.*}}#dist.sharding<[{},{},{tp:128}]>
// CHECK: graph.cos {{.*}}#dist.sharding<[{},{tp:128}]>{{.*}} : tensor<16x256xf32>
// CHECK: graph.reduce sum {{.*}} dims [2] {{.*}} -> tensor<4x16xf32>
// CHECK: graph.exp {{.*}}#dist.sharding<[{},{}]>
graph.program @loss(%table: tensor<512x64xf32> {graph.name = "params.t", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
                    %up: tensor<64x256xf32> {graph.name = "params.u", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                    %ids: tensor<4x16xi32> {graph.name = "batch.ids", graph.role = "input"}) -> tensor<f32> {
  %e = graph.embedding %table, %ids : (tensor<512x64xf32>, tensor<4x16xi32>) -> tensor<4x16x64xf32>
  %t = graph.tanh %e : tensor<4x16x64xf32>
  %n = graph.convert %t : (tensor<4x16x64xf32>) -> tensor<4x16x64xbf16>
  %w = graph.convert %n : (tensor<4x16x64xbf16>) -> tensor<4x16x64xf32>
  %h = graph.einsum "abc,cd->abd" %w, %up : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %i = graph.iota {dim = 0 : i64} : tensor<16x256xf32>
  %c = graph.cos %i : tensor<16x256xf32>
  %cs = graph.broadcast %c dims [1, 2] : (tensor<16x256xf32>) -> tensor<4x16x256xf32>
  %m = graph.mul %h, %cs : tensor<4x16x256xf32>
  %r = graph.reduce sum %m dims [2] : (tensor<4x16x256xf32>) -> tensor<4x16xf32>
  %x = graph.exp %r : tensor<4x16xf32>
  %s = graph.reduce sum %x dims [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  graph.yield %s : tensor<f32>
}
