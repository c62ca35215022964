// Two key heads over four ranks: two ranks share a key head, and each has one of its two query heads.
// RUN: p3dc-opt %s -p3d-propagate-shardings="tp=4" -p3d-verify-shardings | FileCheck %s
// RUN: p3dc-opt %s -p3d-propagate-shardings="tp=4" -p3d-verify-shardings -p3d-partition -p3d-verify-partition | FileCheck %s --check-prefix=LOCAL

// CHECK: dist.mesh = #dist.mesh<tp = 4, pp = 1, dp = 1, mb = 1, tp_minor = 2>
// CHECK: %[[WQ:[a-z0-9]*]]: tensor<32x32xf32> {dist.sharding = #dist.sharding<[{},{tp:8}]>
// CHECK-SAME: %[[WK:[a-z0-9]*]]: tensor<32x16xf32> {dist.sharding = #dist.sharding<[{},{tp_major:8}]>
// CHECK: graph.attention {{.*}}[#dist.sharding<[{},{},{tp:1},{}]>, #dist.sharding<[{},{tp:1},{}]>]
// The gradients of keys and values are partial over the ranks that share them, and stay so: through the rotation, into the input's gradient, which is a sum over all, and
// into the weight's, which is completed once a step.
// CHECK: graph.attention_grad {{.*}} #dist.sharding<[{},{},{tp_major:1},{}] unreduced{tp_minor}>
// CHECK: graph.rope {{.*}}#dist.sharding<[{},{},{tp_major:1},{}] unreduced{tp_minor}>{{.*}} transposed
// CHECK: graph.einsum "abd,cd->abc" {{.*}}, %[[WK]] {{.*}}#dist.sharding<[{},{},{}] unreduced{tp}>
// CHECK: graph.einsum "abd,abc->cd" {{.*}}#dist.sharding<[{},{tp_major:8}] unreduced{tp_minor}>
// LOCAL: graph.attention {{.*}} : (tensor<2x16x1x8xf32>, tensor<2x16x1x8xf32>, tensor<2x16x1x8xf32>)
// LOCAL: %[[SUM:.*]] = dist.all_reduce sum {{.*}} over tp why
// LOCAL-NOT: = dist.
// LOCAL: graph.yield %[[SUM]],
graph.block @layer(%x: tensor<2x16x32xf32>, %wq: tensor<32x32xf32>, %wk: tensor<32x16xf32>, %wv: tensor<32x16xf32>, %cos: tensor<16x8xf32>, %sin: tensor<16x8xf32>)
    -> (tensor<2x16x32xf32>, tensor<32x16xf32>) {
  %q = graph.einsum "abc,cd->abd" %x, %wq : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %qh = graph.reshape %q : (tensor<2x16x32xf32>) -> tensor<2x16x4x8xf32>
  %k = graph.einsum "abc,cd->abd" %x, %wk : (tensor<2x16x32xf32>, tensor<32x16xf32>) -> tensor<2x16x16xf32>
  %kh = graph.reshape %k : (tensor<2x16x16xf32>) -> tensor<2x16x2x8xf32>
  %kr = graph.rope %kh, %cos, %sin : (tensor<2x16x2x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<2x16x2x8xf32>
  %v = graph.einsum "abc,cd->abd" %x, %wv : (tensor<2x16x32xf32>, tensor<32x16xf32>) -> tensor<2x16x16xf32>
  %vh = graph.reshape %v : (tensor<2x16x16xf32>) -> tensor<2x16x2x8xf32>
  %o, %lse = graph.attention %qh, %kr, %vh {causal, masked_value = 0xFFF0000000000000 : f64, scale = 1.0 : f64} : (tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = graph.attention_grad %o, %qh, %kr, %vh, %o, %lse {causal, masked_value = 0xFFF0000000000000 : f64, scale = 1.0 : f64} : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>)
  %dkr = graph.rope %dk, %cos, %sin {transposed} : (tensor<2x16x2x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<2x16x2x8xf32>
  %dkf = graph.reshape %dkr : (tensor<2x16x2x8xf32>) -> tensor<2x16x16xf32>
  %dx = graph.einsum "abd,cd->abc" %dkf, %wk : (tensor<2x16x16xf32>, tensor<32x16xf32>) -> tensor<2x16x32xf32>
  %dwk = graph.einsum "abd,abc->cd" %dkf, %x {graph.grad_role = "weight_grad"} : (tensor<2x16x16xf32>, tensor<2x16x32xf32>) -> tensor<32x16xf32>
  graph.yield %dx, %dwk : tensor<2x16x32xf32>, tensor<32x16xf32>
}
graph.program @step(%x: tensor<2x16x32xf32> {graph.name = "batch.x", graph.role = "input"}, %wq: tensor<32x32xf32> {graph.name = "params.q", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %wk: tensor<32x16xf32> {graph.name = "params.k", graph.role = "param", graph.user_sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %wv: tensor<32x16xf32> {graph.name = "params.v", graph.role = "param"},
    %cos: tensor<16x8xf32> {graph.name = "batch.cos", graph.role = "input"}, %sin: tensor<16x8xf32> {graph.name = "batch.sin", graph.role = "input"}) -> (tensor<2x16x32xf32>, tensor<32x16xf32> {graph.name = "grads.k"}) {
  %dx, %dwk = graph.call @layer(%x, %wq, %wk, %wv, %cos, %sin) : (tensor<2x16x32xf32>, tensor<32x32xf32>, tensor<32x16xf32>, tensor<32x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> (tensor<2x16x32xf32>, tensor<32x16xf32>)
  graph.update "adamw" %wk, %dwk : tensor<32x16xf32>, tensor<32x16xf32>
  graph.yield %dx, %dwk : tensor<2x16x32xf32>, tensor<32x16xf32>
}
