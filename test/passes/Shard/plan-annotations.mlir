// A plan that contradicts an annotation of the model.
// RUN: echo '{"version": 1, "sharding": {"params.w": [null, null]}}' > %t.json
// RUN: not p3dc-opt %s -p3d-propagate-shardings="tp=2 plan=%t.json" 2>&1 | FileCheck %s
// CHECK: .json:1:1: error: sharding of params.w: dimension 1 is whole, but what must be cut alike is not: an annotation of the model; change both, or leave out one of them
// RUN: echo '{"version": 1, "sharding": {"params.s": ["tp", null]}}' > %t.size.json
// RUN: not p3dc-opt %s -p3d-propagate-shardings="tp=2 plan=%t.size.json" 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: .size.json:1:1: error: sharding of params.s: dimension 0 has size 1
// CHECK: plan-annotations.mlir:12:18: note: the annotation

graph.program @p(%x: tensor<4x8xf32> {graph.name = "batch.x", graph.role = "input"},
                 %s: tensor<1x8xf32> {graph.name = "params.s", graph.role = "param"},
                 %w: tensor<8x8xf32> {graph.name = "params.w", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{?}, {"model"}]>}) -> tensor<4x8xf32> {
  %y = graph.einsum "ab,bc->ac" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  graph.yield %y : tensor<4x8xf32>
}
