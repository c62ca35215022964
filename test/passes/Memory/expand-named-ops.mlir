// RUN: p3dc-opt %s -p3d-expand-named-ops | FileCheck %s

module attributes {dist.mesh = #dist.mesh<tp = 4, pp = 1, dp = 1, mb = 1>} {
  // A sum of bf16 is kept in f32 and rounded once.
  // CHECK-LABEL: graph.block @sum
  // CHECK: %[[WIDE:.*]] = graph.convert %{{.*}} : (tensor<8xbf16>) -> tensor<8xf32>
  // CHECK: %[[SUM:.*]] = graph.reduce sum %[[WIDE]] dims [0] : (tensor<8xf32>) -> tensor<f32>
  // CHECK: graph.convert %[[SUM]] : (tensor<f32>) -> tensor<bf16>
  graph.block @sum(%x: tensor<8xbf16>) -> tensor<bf16> {
    %s = graph.reduce sum %x dims [0] : (tensor<8xbf16>) -> tensor<bf16>
    graph.yield %s : tensor<bf16>
  }

  // CHECK-LABEL: graph.block @loss
  // CHECK: %[[MAX:.*]] = graph.cross_entropy_max
  // CHECK: %[[SUM:.*]], %[[TARGET:.*]] = graph.cross_entropy_sum %{{.*}}, %{{.*}}, %[[MAX]]
  // CHECK: %[[LOG:.*]] = graph.log %[[SUM]]
  // CHECK: graph.add %[[LOG]], %[[MAX]]
  graph.block @loss(%x: tensor<4x16xf32>, %t: tensor<4xi32>) -> tensor<4xf32> {
    %l:3 = graph.softmax_cross_entropy %x, %t : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    graph.yield %l#0 : tensor<4xf32>
  }

  // Negative ids count from the end of the whole table, not of the shard; ids outside of it are clamped to it, for a shard has 0 for those of others.
  // CHECK-LABEL: graph.block @embed
  // CHECK: graph.constant dense<15>
  // CHECK: graph.max
  // CHECK: %[[LAST:.*]] = graph.constant dense<14>
  // CHECK: %[[IDS:.*]] = graph.min %{{.*}}, %[[LAST]]
  // CHECK: graph.gather %{{.*}}, %[[IDS]] {axis = 0 : i64, batch_dims = 0 : i64, dist.shard = #dist.shard<
  graph.block @embed(%table: tensor<4x8xf32>, %ids: tensor<6xi32>) -> tensor<6x8xf32> {
    %y = graph.embedding %table, %ids {dist.shard = #dist.shard<dim 0 over {tp} chunk 4 of 15>} : (tensor<4x8xf32>, tensor<6xi32>) -> tensor<6x8xf32>
    graph.yield %y : tensor<6x8xf32>
  }

  // Rows beyond the end come from a pad.
  // CHECK-LABEL: graph.block @uneven
  // CHECK: graph.pad %{{.*}} low [0] high [2] interior [0]
  // CHECK: dist.shard_slice %{{.*}} dim 0 over tp : (tensor<12xf32>) -> tensor<3xf32>
  graph.block @uneven(%x: tensor<10xf32>) -> tensor<3xf32> {
    %y = dist.shard_slice %x dim 0 over tp : (tensor<10xf32>) -> tensor<3xf32>
    graph.yield %y : tensor<3xf32>
  }
}
