// What the level after partitioning promises, broken once each.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-partition

graph.program @loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'dist.reshard' op is left after partitioning}}
  %0 = dist.reshard %x from <[{}]> to <[{}]> why "test" : tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

graph.program @loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'graph.neg' op still has the shardings of its global results}}
  %0 = graph.neg %x {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 is partial over tp and no gradient}}
graph.program @loss(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.name = "loss", dist.sharding = #dist.sharding<[{}] unreduced{tp}>}) {
  graph.yield %x : tensor<4xf32>
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 4, pp = 1, dp = 1, mb = 1>} {
graph.program @loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'dist.mask_padding' op is about 4 shards of 4 of a dimension of 0, which do not cover it}}
  %0 = dist.mask_padding %x <dim 0 over {tp} chunk 4 of 0> value 0.0 : tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 4, pp = 1, dp = 1, mb = 1>} {
graph.program @loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{is about 4 shards of 4 of a dimension of 17, which do not cover it}}
  %0 = dist.mask_padding %x <dim 0 over {tp} chunk 4 of 17> value 0.0 : tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}
}
