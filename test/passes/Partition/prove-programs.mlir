// What the proof refuses of programs and blocks: declarations that are not so, gradients that are completed too often or too seldom. One case for each message.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-partition

// expected-error @below {{'graph.program' op stands in a module without dist.mesh, so that nothing is known of its ranks; run p3d-partition first}}
graph.program @no_mesh(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<4xf32>
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-error @below {{'graph.program' op argument 0 has no dist.sharding and dist.global_type that fit 'tensor<4xf32>'; give it both, or neither where it is whole}}
  graph.program @half_declared(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:4}]>}) -> tensor<4xf32> {
    graph.yield %x : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-error @below {{'graph.program' op argument 0 is declared [{tp}:4 of 8] of type 'tensor<3xf32>': dimension 0 is cut over {tp} into 4 of 8, but has 3 rows on each rank; mend its dist.sharding or its type}}
  graph.program @local_size(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:4}]>, dist.global_type = tensor<8xf32>}) -> tensor<3xf32> {
    graph.yield %x : tensor<3xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-error @below {{dimension 0 is cut over {tp} into 4 of 9, which 2 shards do not cover}}
  graph.program @too_small(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:4}]>, dist.global_type = tensor<9xf32>}) -> tensor<4xf32> {
    graph.yield %x : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-error @below {{argument 0 is declared [{tp}:4 of 8, {tp}:4 of 8] of type 'tensor<4x4xf32>': uses tp twice; mend its dist.sharding or its type}}
  graph.program @twice(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<[{tp:4},{tp:4}]>, dist.global_type = tensor<8x8xf32>}) -> tensor<4x4xf32> {
    graph.yield %x : tensor<4x4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-error @below {{'graph.program' op result 0 is declared [4], but is [{tp}:4 of 8]; move it before, or mend its dist.sharding}}
  // expected-note @below {{the result is made here}}
  graph.program @result(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:4}]>, dist.global_type = tensor<8xf32>}) -> tensor<4xf32> {
    graph.yield %x : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>}) -> tensor<4xf32> {
    graph.yield %x : tensor<4xf32>
  }
  // expected-note @below {{operand 0 is [{tp}:4 of 8]}}
  graph.program @argument_of_block(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:4}]>, dist.global_type = tensor<8xf32>}) -> tensor<4xf32> {
    // expected-error @below {{'graph.call' op gives argument 0 of @layer, declared #dist.sharding<[{}]>, a value that is [{tp}:4 of 8]; move it before, or mend the block's dist.sharding}}
    %0 = graph.call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-error @below {{'graph.block' op declares result 0 #dist.sharding<[{}]>, but it is [{tp}:4 of 8]; move it before the yield, or mend its dist.sharding}}
  graph.block @layer(%x: tensor<4xf32>) -> (tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>}) {
    graph.yield %x : tensor<4xf32>
  }
  graph.program @result_of_block(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:4}]>, dist.global_type = tensor<8xf32>}) -> tensor<4xf32> {
    %0 = graph.call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
}

// -----

// The same block on shards of another size, on which it is not right.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:4 of 7]}}
  graph.block @total(%x: tensor<4xf32>) -> tensor<f32> {
    // expected-error @below {{'graph.reduce' op combines the rows of dimension 0 of operand 0, cut over {tp} into 4 of 7, and those beyond the end hold anything}}
    %0 = graph.reduce sum %x dims [0] : (tensor<4xf32>) -> tensor<f32>
    %1 = dist.all_reduce sum %0 over tp why "test" : tensor<f32>
    graph.yield %1 : tensor<f32>
  }
  graph.program @two_calls(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:4}]>, dist.global_type = tensor<8xf32>},
                           %y: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:4}]>, dist.global_type = tensor<7xf32>}) -> tensor<f32> {
    %0 = graph.call @total(%x) : (tensor<4xf32>) -> tensor<f32>
    %1 = graph.call @total(%y) : (tensor<4xf32>) -> tensor<f32>
    graph.yield %0 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 2>} {
  graph.block @prologue(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.prologue} {
    graph.yield %x : tensor<4xf32>
  }
  graph.program @microbatch(%x: tensor<8xf32>) -> tensor<4xf32> {
    // expected-note @below {{operand 0 is [{mb}:4 of 8]}}
    %0 = dist.shard_slice %x dim 0 over mb : (tensor<8xf32>) -> tensor<4xf32>
    // expected-error @below {{'graph.call' op calls @prologue, which runs once a step, on operand 0 of one microbatch; give it the replica's whole batch}}
    %1 = graph.call @prologue(%0) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 2>} {
  graph.block @prologue(%x: tensor<8xf32>) -> tensor<4xf32> attributes {graph.prologue} {
    // expected-error @below {{'dist.shard_slice' op makes [{mb}:4 of 8] in a block that runs once a step; microbatches are not known there}}
    %0 = dist.shard_slice %x dim 0 over mb : (tensor<8xf32>) -> tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
  graph.program @slice_in_prologue(%x: tensor<8xf32>) -> tensor<4xf32> {
    %1 = graph.call @prologue(%x) : (tensor<8xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
}

// -----

#rows = #dist.sharding<[{tp:4},{}]>
#columns = #dist.sharding<[{},{tp:4}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @lies_otherwise(%w: tensor<4x8xf32> {dist.sharding = #rows, dist.global_type = tensor<8x8xf32>},
                                // expected-note @below {{the gradient is [8, {tp}:4 of 8]}}
                                %g: tensor<8x4xf32> {dist.sharding = #columns, dist.global_type = tensor<8x8xf32>}) {
    // expected-error @below {{'graph.update' op operand 1, a gradient, is [8, {tp}:4 of 8], its parameter [{tp}:4 of 8, 8]; a gradient lies as its parameter: move it before}}
    graph.update "adamw" %w, %g : tensor<4x8xf32>, tensor<8x4xf32>
    graph.yield
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @maximum(%w: tensor<f32>, %x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) {
    // expected-note @below {{the gradient is [] partial max over tp}}
    %g = graph.reduce max %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    // expected-error @below {{operand 1, a gradient, is a partial max over tp; only sums are completed after the last microbatch: complete it before}}
    graph.update "adamw" %w, %g : tensor<f32>, tensor<f32>
    graph.yield
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 2>} {
  graph.program @added_twice(%w: tensor<f32>, %x: tensor<6xf32>) {
    // expected-note @below {{the gradient is []}}
    %g = graph.reduce sum %x dims [0] : (tensor<6xf32>) -> tensor<f32>
    // expected-error @below {{operand 1, a gradient, is complete over mb, and would be added once for each of 2 microbatches; leave it a sum over the batch}}
    graph.update "adamw" %w, %g : tensor<f32>, tensor<f32>
    graph.yield
  }
}

// -----

#cut = #dist.sharding<[{tp:4}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{the gradient is [{tp}:4 of 7]}}
  graph.program @padding(%w: tensor<4xf32> {dist.sharding = #cut, dist.global_type = tensor<7xf32>}) {
    // expected-error @below {{operand 1, a gradient, has anything beyond the end of dimension 0, cut over {tp} into 4 of 7, which would count in its norm; set it to 0 before by dist.mask_padding}}
    graph.update "adamw" %w, %w : tensor<4xf32>, tensor<4xf32>
    graph.yield
  }
}

// -----

// The update takes a complete gradient, and what is returned is summed over tp.
#cut = #dist.sharding<[{tp:3}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @two_gradients(%w: tensor<f32> {graph.name = "params.w"}, %x: tensor<3xf32> {dist.sharding = #cut, dist.global_type = tensor<6xf32>})
      -> (tensor<f32> {graph.name = "grads.w", dist.sharding = #dist.sharding<[] unreduced{tp}>, dist.global_type = tensor<f32>}) {
    %g = graph.reduce sum %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    %all = dist.all_reduce sum %g over tp why "test" : tensor<f32>
    // expected-error @below {{'graph.update' op gets a gradient that is [], but result 0, which is completed for it, is [] partial sum over tp; return what is updated with}}
    graph.update "adamw" %w, %all : tensor<f32>, tensor<f32>
    graph.yield %g : tensor<f32>
  }
}

// -----

// A complete value is added to a partial sum by the first of two ranks, the other adds zeros, and the sum is complete after all; without the mask it would count twice.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @shares(%c: tensor<1xf32>, %x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<1xf32> {
    %s = graph.reduce sum %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    %r = graph.reshape %s : (tensor<f32>) -> tensor<1xf32>
    %p = dist.mask_padding %c <dim 0 over {tp} chunk 1 of 1> value 0.0 : tensor<1xf32>
    %0 = graph.add %r, %p : tensor<1xf32>
    %1 = dist.all_reduce sum %0 over tp why "test" : tensor<1xf32>
    graph.yield %1 : tensor<1xf32>
  }
}
