// What other partitioners got wrong, or dear.
// RUN: p3dc-opt %s -split-input-file -p3d-propagate-shardings="tp=2" -p3d-share-gathers -p3d-merge-reshards -p3d-verify-shardings -p3d-partition -p3d-verify-partition 2>/dev/null | FileCheck %s

// A change from one dimension to the other is one all-to-all, not a gather and a slice.
// CHECK-LABEL: graph.program @across
// CHECK-NOT: dist.{{all_gather|shard_slice|all_reduce}}
// CHECK: dist.all_to_all %{{.*}} gather 0 split 1 over tp {{.*}} : (tensor<4x6xf32>) -> tensor<8x3xf32>
// CHECK-NOT: dist.{{all_gather|shard_slice|all_to_all}}
// CHECK: dist.all_reduce sum {{.*}} : tensor<f32>
graph.program @across(%w: tensor<8x6xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}, {?}]>}) -> tensor<f32> {
  %t = graph.tanh %w : tensor<8x6xf32>
  %c = graph.constrain %t : tensor<8x6xf32> as #sdy.sharding<@mesh, [{}, {"model"}]>
  %e = graph.exp %c : tensor<8x6xf32>
  %s = graph.reduce sum %e dims [0, 1] : (tensor<8x6xf32>) -> tensor<f32>
  %r = graph.tanh %s : tensor<f32>
  graph.yield %r : tensor<f32>
}

// -----

// Two products, the first cut by columns and the second by rows, meet in one all-reduce; an argument that nobody uses, and one that is used twice, do not matter.
// CHECK-LABEL: graph.program @pair
// CHECK-COUNT-1: = dist.
// CHECK-NOT: = dist.
// CHECK: graph.yield
graph.program @pair(%a: tensor<16x64xf32> {graph.name = "params.a", graph.role = "param"}, %b: tensor<64x16xf32> {graph.name = "params.b", graph.role = "param"},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input"}, %unused: tensor<8x3xf32> {graph.name = "batch.u", graph.role = "input"}) -> tensor<8x16xf32> {
  %h = graph.einsum "bd,df->bf" %x, %a : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %g = graph.silu %h : tensor<8x64xf32>
  %y = graph.einsum "bf,fd->bd" %g, %b : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %z = graph.tanh %y : tensor<8x16xf32>
  %r = graph.add %x, %z : tensor<8x16xf32>
  graph.yield %r : tensor<8x16xf32>
}

// -----

// 7 over two ranks: one row of padding, which the sum does not see.
// CHECK-LABEL: graph.program @uneven
// CHECK: dist.mask_padding %{{.*}} <dim 0 over {tp} chunk 4 of 7> value 0.000000e+00 : tensor<4xf32>
// CHECK: dist.all_reduce sum
graph.program @uneven(%w: tensor<7xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"model"}]>}) -> tensor<f32> {
  %t = graph.exp %w : tensor<7xf32>
  %s = graph.reduce sum %t dims [0] : (tensor<7xf32>) -> tensor<f32>
  %r = graph.tanh %s : tensor<f32>
  graph.yield %r : tensor<f32>
}
