// A vocabulary of 61 over tp=4: shards of 16 rows, the last with 13; the loss leaves out the padding by position, the gradient's padding is zero.
// RUN: p3dc-opt %s -p3d-expand-cross-entropy -p3d-propagate-shardings="tp=4" -p3d-verify-shardings -p3d-partition -p3d-verify-partition | FileCheck %s

// CHECK: graph.block @last.fwd({{.*}}tensor<8x16xf32>
// CHECK: graph.cross_entropy_max {{.*}}dist.shard = #dist.shard<dim 1 over {tp} chunk 16 of 61>
// CHECK-NEXT: dist.all_reduce max {{.*}} over tp
// CHECK: graph.cross_entropy_sum {{.*}}dist.shard = #dist.shard<dim 1 over {tp} chunk 16 of 61>
// CHECK-DAG: dist.all_reduce sum
// CHECK: graph.block @last.bwd
// CHECK: graph.softmax_cross_entropy_grad {{.*}}dist.shard = #dist.shard<dim 1 over {tp} chunk 16 of 61>
// CHECK: dist.mask_padding {{.*}}<dim 1 over {tp} chunk 16 of 61> value 0
graph.block @last.fwd(%x: tensor<4x8xf32>, %w: tensor<8x61xf32>, %t: tensor<4xi32>) -> (tensor<f32>, tensor<4x61xf32>, tensor<4xf32>, tensor<4xf32>) attributes {graph.saves = 3 : i64} {
  %h = graph.einsum "bd,dv->bv" %x, %w : (tensor<4x8xf32>, tensor<8x61xf32>) -> tensor<4x61xf32>
  %l, %m, %s = graph.softmax_cross_entropy %h, %t : (tensor<4x61xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %r = graph.reduce sum %l dims [0] : (tensor<4xf32>) -> tensor<f32>
  graph.yield %r, %h, %m, %s : tensor<f32>, tensor<4x61xf32>, tensor<4xf32>, tensor<4xf32>
}
graph.block @last.bwd(%d: tensor<f32>, %x: tensor<4x8xf32>, %t: tensor<4xi32>, %h: tensor<4x61xf32>, %m: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<8x61xf32> attributes {graph.backward_of = @last.fwd} {
  %dl = graph.broadcast %d dims [] : (tensor<f32>) -> tensor<4xf32>
  %dh = graph.softmax_cross_entropy_grad %dl, %h, %t, %m, %s : (tensor<4xf32>, tensor<4x61xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x61xf32>
  %dw = graph.einsum "bd,bv->dv" %x, %dh : (tensor<4x8xf32>, tensor<4x61xf32>) -> tensor<8x61xf32>
  graph.yield %dw : tensor<8x61xf32>
}
graph.program @loss(%w: tensor<8x61xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<4x8xf32> {graph.name = "batch.x", graph.role = "input"}, %t: tensor<4xi32> {graph.name = "batch.t", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}, tensor<8x61xf32> {graph.name = "grads.w"}) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %l, %h, %m, %s = graph.call @last.fwd(%x, %w, %t) : (tensor<4x8xf32>, tensor<8x61xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x61xf32>, tensor<4xf32>, tensor<4xf32>)
  %g = graph.call @last.bwd(%one, %x, %t, %h, %m, %s) : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4x61xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x61xf32>
  graph.update "adamw" %w, %g {decay} : tensor<8x61xf32>, tensor<8x61xf32>
  graph.yield %l, %g : tensor<f32>, tensor<8x61xf32>
}
