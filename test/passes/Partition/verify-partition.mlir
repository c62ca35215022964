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
