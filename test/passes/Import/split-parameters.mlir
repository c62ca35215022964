// Each piece of a parameter that is only used in pieces becomes an argument.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(graph.program(p3d-split-parameters))' | FileCheck %s

// A stack of two layers, annotated: each layer keeps the annotation of its own dimensions. The one of the layers is cut by stages.
// CHECK: graph.program @stack(%arg0: tensor<4x6xf32>
// CHECK-SAME: graph.piece_offset = array<i64: 0, 0, 0>, graph.piece_shape = array<i64: 1, 4, 6>
// CHECK-SAME: graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %arg1: tensor<4x6xf32>
// CHECK-SAME: graph.piece_offset = array<i64: 1, 0, 0>, graph.piece_shape = array<i64: 1, 4, 6>
// CHECK-SAME: graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
// expected-warning @below {{the annotation shards dimension 0, which holds layers; these are cut by pp of --mesh instead}}
graph.program @stack(%w: tensor<2x4x6xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{"stage"}, {}, {"model"}]>}) -> tensor<4x6xf32> {
  %s0 = graph.slice %w [0, 0, 0] to [1, 4, 6] step [1, 1, 1] : (tensor<2x4x6xf32>) -> tensor<1x4x6xf32>
  %r0 = graph.reshape %s0 : (tensor<1x4x6xf32>) -> tensor<4x6xf32>
  %s1 = graph.slice %w [1, 0, 0] to [2, 4, 6] step [1, 1, 1] : (tensor<2x4x6xf32>) -> tensor<1x4x6xf32>
  %r1 = graph.reshape %s1 : (tensor<1x4x6xf32>) -> tensor<4x6xf32>
  %sum = graph.add %r0, %r1 : tensor<4x6xf32>
  graph.yield %sum : tensor<4x6xf32>
}
