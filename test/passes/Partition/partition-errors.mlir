// Moves that no collective makes, and what partitioning needs.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-partition

// expected-error @below {{has no mesh; run p3d-propagate-shardings first}}
module {
}

// -----

// A value of rank 2 with a sharding of rank 1.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-error @below {{has a value without a sharding of its rank; run p3d-propagate-shardings first}}
  graph.program @loss(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<[{}]>}) -> tensor<4x4xf32> {
    graph.yield %x : tensor<4x4xf32>
  }
}

// -----

// To partial.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 2>} {
  graph.program @loss(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<[{},{}]>}) -> tensor<4x4xf32> {
    // expected-error @below {{'dist.reshard' op would make a complete value partial over tp}}
    %0 = dist.reshard %x from <[{},{}]> to <[{},{}] unreduced{tp}> why "test" {dist.shardings = [#dist.sharding<[{},{}] unreduced{tp}>]} : tensor<4x4xf32>
    graph.yield %0 : tensor<4x4xf32>
  }
}

// -----

// Over microbatches.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 2>} {
  graph.program @loss(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<[{},{}] unreduced{mb}>}) -> tensor<4x4xf32> {
    // expected-error @below {{'dist.reshard' op would complete a sum over microbatches before the last of them}}
    %0 = dist.reshard %x from <[{},{}] unreduced{mb}> to <[{},{}]> why "test" {dist.shardings = [#dist.sharding<[{},{}]>]} : tensor<4x4xf32>
    graph.yield %0 : tensor<4x4xf32>
  }
}

// -----

// The batch.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 2>} {
  graph.program @loss(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<[{dp:2},{}]>}) -> tensor<4x4xf32> {
    // expected-error @below {{'dist.reshard' op would gather the batch over dp}}
    %0 = dist.reshard %x from <[{dp:2},{}]> to <[{},{}]> why "test" {dist.shardings = [#dist.sharding<[{},{}]>]} : tensor<4x4xf32>
    graph.yield %0 : tensor<4x4xf32>
  }
}
