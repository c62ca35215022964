// What the proof refuses of graph ops: operands that hold other rows, parts used as wholes, padding that counts. One case for each message.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-partition

#cut = #dist.sharding<[{tp:4},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:4 of 8, 6]}}
  // expected-note @below {{operand 1 is [4, 6]}}
  graph.program @whole_with_cut(%x: tensor<4x6xf32> {dist.sharding = #cut, dist.global_type = tensor<8x6xf32>}, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
    // expected-error @below {{'graph.add' op pairs dimension 0 of operand 0 (cut over {tp} into 4 of 8) with dimension 0 of operand 1 (whole, 4); each rank needs the same rows of both: gather the one that is cut, or slice the other alike}}
    %0 = graph.add %x, %y : tensor<4x6xf32>
    graph.yield %0 : tensor<4x6xf32>
  }
}

// -----

#tp = #dist.sharding<[{tp:4},{}]>
#dp = #dist.sharding<[{dp:4},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:4 of 8, 6]}}
  graph.program @other_axis(%x: tensor<4x6xf32> {dist.sharding = #tp, dist.global_type = tensor<8x6xf32>},
                            // expected-note @below {{operand 1 is [{dp}:4 of 8, 6]}}
                            %y: tensor<4x6xf32> {dist.sharding = #dp, dist.global_type = tensor<8x6xf32>}) -> tensor<4x6xf32> {
    // expected-error @below {{(cut over {tp} into 4 of 8) with dimension 0 of operand 1 (cut over {dp} into 4 of 8); each rank needs the same rows of both: move one by dist.all_to_all or dist.all_gather}}
    %0 = graph.add %x, %y : tensor<4x6xf32>
    graph.yield %0 : tensor<4x6xf32>
  }
}

// -----

// A product over k of which each rank has other rows on either side.
#k = #dist.sharding<[{},{tp:3}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [4, {tp}:3 of 6]}}
  // expected-note @below {{operand 1 is [3, 4]}}
  graph.program @contraction(%x: tensor<4x3xf32> {dist.sharding = #k, dist.global_type = tensor<4x6xf32>}, %w: tensor<3x4xf32>) -> tensor<4x4xf32> {
    // expected-error @below {{'graph.einsum' op pairs dimension 1 of operand 0 (cut over {tp} into 3 of 6) with dimension 0 of operand 1 (whole, 3)}}
    %0 = graph.einsum "ak,kb->ab" %x, %w : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    graph.yield %0 : tensor<4x4xf32>
  }
}

// -----

#row = #dist.sharding<[{},{tp:3}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [4, {tp}:3 of 6]}}
  graph.program @softmax_of_a_shard(%x: tensor<4x3xf32> {dist.sharding = #row, dist.global_type = tensor<4x6xf32>}) -> tensor<4x3xf32> {
    // expected-error @below {{'graph.softmax' op needs all rows of dimension 1 of operand 0, which is cut over {tp} into 3 of 6: each element of a row depends on all of it; gather it before by dist.all_gather}}
    %0 = graph.softmax %x : tensor<4x3xf32>
    graph.yield %0 : tensor<4x3xf32>
  }
}

// -----

#row = #dist.sharding<[{},{tp:3}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [4, {tp}:3 of 6]}}
  graph.program @slice_of_a_shard(%x: tensor<4x3xf32> {dist.sharding = #row, dist.global_type = tensor<4x6xf32>}) -> tensor<4x2xf32> {
    // expected-error @below {{'graph.slice' op needs all rows of dimension 1 of operand 0, which is cut over {tp} into 3 of 6: its elements change places}}
    %0 = graph.slice %x [0, 0] to [4, 2] step [1, 1] : (tensor<4x3xf32>) -> tensor<4x2xf32>
    graph.yield %0 : tensor<4x2xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @part_of_a_constant() -> tensor<2xf32> {
    // expected-error @below {{'graph.constant' op needs all rows of dimension 0 of its result, which is cut over {tp} into 2 of 4: its elements are not all the same}}
    %0 = graph.constant {dist.sharding = #dist.sharding<[{tp:2}]>, dist.global_type = tensor<4xf32>} dense<[1.0, 2.0]> : tensor<2xf32>
    graph.yield %0 : tensor<2xf32>
  }
}

// -----

#depth = #dist.sharding<[{},{},{},{tp:4}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [2, 3, 2, {tp}:4 of 8]}}
  graph.program @rope(%x: tensor<2x3x2x4xf32> {dist.sharding = #depth, dist.global_type = tensor<2x3x2x8xf32>},
                      %t: tensor<3x4xf32> {dist.sharding = #dist.sharding<[{},{tp:4}]>, dist.global_type = tensor<3x8xf32>}) -> tensor<2x3x2x4xf32> {
    // expected-error @below {{'graph.rope' op needs all rows of dimension 3 of operand 0, which is cut over {tp} into 4 of 8: its halves are combined}}
    %0 = graph.rope %x, %t, %t : (tensor<2x3x2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x2x4xf32>
    graph.yield %0 : tensor<2x3x2x4xf32>
  }
}

// -----

#depth = #dist.sharding<[{},{},{},{tp:4}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [2, 3, 2, {tp}:4 of 8]}}
  graph.program @attention(%x: tensor<2x3x2x4xf32> {dist.sharding = #depth, dist.global_type = tensor<2x3x2x8xf32>}) -> tensor<2x3x2x4xf32> {
    // expected-error @below {{'graph.attention' op needs all rows of dimension 3 of operand 0, which is cut over {tp} into 4 of 8: scores are sums over it}}
    %0, %lse = graph.attention %x, %x, %x {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3xf32>)
    graph.yield %0 : tensor<2x3x2x4xf32>
  }
}

// -----

// Two heads a rank, but all key heads: head 2 of the query would read key head 0 of the rank, not 1.
#heads = #dist.sharding<[{},{},{tp:2},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @heads(%q: tensor<2x3x2x4xf32> {dist.sharding = #heads, dist.global_type = tensor<2x3x4x4xf32>}, %k: tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf32> {
    // expected-error @below {{'graph.attention' op has query heads that are cut over {tp} into 2 of 4, and key heads that are whole, 2; a rank needs the key heads that its query heads read, and no others}}
    %0, %lse = graph.attention %q, %k, %k {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> (tensor<2x3x2x4xf32>, tensor<2x2x3xf32>)
    graph.yield %0 : tensor<2x3x2x4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @diagonal_blocks(%x: tensor<4x3xf32> {dist.sharding = #dist.sharding<[{tp:4},{}]>, dist.global_type = tensor<8x3xf32>},
                                 %w: tensor<3x5xf32> {dist.sharding = #dist.sharding<[{},{tp:5}]>, dist.global_type = tensor<3x10xf32>}) -> tensor<4x5xf32> {
    // expected-error @below {{'graph.einsum' op combines dimension 0 of operand 0 with dimension 1 of operand 1, both cut over tp: a rank would have the diagonal blocks only; gather one of them}}
    %0 = graph.einsum "ak,kb->ab" %x, %w : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    graph.yield %0 : tensor<4x5xf32>
  }
}

// -----

// Rows of a table that tp cuts.
#table = #dist.sharding<[{tp:4},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @no_position(%t: tensor<4x3xf32> {dist.sharding = #table, dist.global_type = tensor<7x3xf32>}, %i: tensor<2xi32>) -> tensor<2x3xf32> {
    // expected-error @below {{'graph.embedding' op finds rows by position in a dimension that is cut and has no dist.shard; it needs dist.shard = #dist.shard<dim 0 over {tp} chunk 4 of 7>}}
    %0 = graph.embedding %t, %i : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    graph.yield %0 : tensor<2x3xf32>
  }
}

// -----

#table = #dist.sharding<[{tp:4},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @wrong_position(%t: tensor<4x3xf32> {dist.sharding = #table, dist.global_type = tensor<7x3xf32>}, %i: tensor<2xi32>) -> tensor<2x3xf32> {
    // expected-error @below {{finds rows by position in a dimension that is cut and has dist.shard = #dist.shard<dim 0 over {tp} chunk 4 of 8>; it needs dist.shard = #dist.shard<dim 0 over {tp} chunk 4 of 7>}}
    %0 = graph.embedding %t, %i {dist.shard = #dist.shard<dim 0 over {tp} chunk 4 of 8>} : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    graph.yield %0 : tensor<2x3xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @needless_position(%t: tensor<4x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {
    // expected-error @below {{'graph.embedding' op has dist.shard, but nothing that it finds by position is cut; leave it out}}
    %0 = graph.embedding %t, %i {dist.shard = #dist.shard<dim 0 over {tp} chunk 4 of 8>} : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    graph.yield %0 : tensor<2x3xf32>
  }
}

// -----

#row = #dist.sharding<[{},{tp:4}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [4, {tp}:4 of 7]}}
  graph.program @padding(%x: tensor<4x4xf32> {dist.sharding = #row, dist.global_type = tensor<4x7xf32>}) -> tensor<4xf32> {
    // expected-error @below {{'graph.reduce' op combines the rows of dimension 1 of operand 0, cut over {tp} into 4 of 7, and those beyond the end hold anything; set them to 0.000000e+00 before by dist.mask_padding}}
    %0 = graph.reduce sum %x dims [1] : (tensor<4x4xf32>) -> tensor<4xf32>
    %1 = dist.all_reduce sum %0 over tp why "test" : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
}

// -----

// The neutral element of a sum is none of a maximum.
#row = #dist.sharding<[{},{tp:4}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @padding_of_maximum(%x: tensor<4x4xf32> {dist.sharding = #row, dist.global_type = tensor<4x7xf32>}) -> tensor<4xf32> {
    // expected-note @below {{operand 0 is [4, {tp}:4 of 7]}}
    %m = dist.mask_padding %x <dim 1 over {tp} chunk 4 of 7> value 0.0 : tensor<4x4xf32>
    // expected-error @below {{and those beyond the end hold 0.000000e+00; set them to -INF before by dist.mask_padding}}
    %0 = graph.reduce max %m dims [1] : (tensor<4x4xf32>) -> tensor<4xf32>
    %1 = dist.all_reduce max %0 over tp why "test" : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @below {{'graph.constrain' op has no rule that says what it makes of parts; add one to passes/Partition/Proof/OpIndices.cpp}}
    %0 = graph.constrain %x : tensor<4xf32> as 1
    graph.yield %0 : tensor<4xf32>
  }
}

// -----

// A product over a dimension that tp cuts, used as if it were whole.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @not_linear(%x: tensor<4x3xf32> {dist.sharding = #dist.sharding<[{},{tp:3}]>, dist.global_type = tensor<4x6xf32>},
                            %w: tensor<3x5xf32> {dist.sharding = #dist.sharding<[{tp:3},{}]>, dist.global_type = tensor<6x5xf32>}) -> tensor<4x5xf32> {
    // expected-note @below {{operand 0 is [4, 5] partial sum over tp}}
    %0 = graph.einsum "ak,kb->ab" %x, %w : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    // expected-error @below {{'graph.gelu' op needs operand 0 complete over tp, which is a partial sum: it does not commute with that; complete it before by dist.all_reduce or dist.reduce_scatter}}
    %1 = graph.gelu tanh %0 : tensor<4x5xf32>
    graph.yield %1 : tensor<4x5xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 1 is []}}
  graph.program @partial_plus_complete(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}, %y: tensor<f32>) -> tensor<f32> {
    // expected-note @below {{operand 0 is [] partial sum over tp}}
    %0 = graph.reduce sum %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    // expected-error @below {{'graph.add' op adds operand 1, complete over tp, to operand 0, a partial sum: it would count once for each rank; complete the sum before}}
    %1 = graph.add %0, %y : tensor<f32>
    graph.yield %1 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @two_factors(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<f32> {
    // expected-note @below {{operand 0 is [] partial sum over tp}}
    // expected-note @below {{operand 1 is [] partial sum over tp}}
    %0 = graph.reduce sum %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    // expected-error @below {{'graph.mul' op multiplies two partial sums over tp: the product of sums is not the sum of products; complete one before}}
    %1 = graph.mul %0, %0 : tensor<f32>
    graph.yield %1 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @two_kinds(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<f32> {
    // expected-note @below {{operand 0 is [] partial sum over tp}}
    %0 = graph.reduce sum %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    // expected-note @below {{operand 1 is [] partial max over tp}}
    %1 = graph.reduce max %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    // expected-error @below {{'graph.add' op combines a partial sum over tp with a partial max; complete both before}}
    %2 = graph.add %0, %1 : tensor<f32>
    graph.yield %2 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 1 is [{tp}:3 of 6]}}
  graph.program @partial_with_cut(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<3xf32> {
    %0 = graph.reduce sum %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    %1 = graph.broadcast %0 dims [] : (tensor<f32>) -> tensor<3xf32>
    // expected-note @below {{operand 0 is [3] partial sum over tp}}
    %2 = graph.reshape %1 : (tensor<3xf32>) -> tensor<3xf32>
    // expected-error @below {{'graph.einsum' op combines operand 0, a partial sum over tp, with operand 1, cut over it: each rank has its part of the sum for its rows only; complete the sum before}}
    %3 = graph.einsum "a,b->b" %2, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %3 : tensor<3xf32>
  }
}

// -----

// What an op makes has to be said where it is cut, and to be so.
#batch = #dist.sharding<[{dp:2},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  graph.program @claim(%b: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<2x3xf32> {
    // expected-error @below {{'graph.broadcast' op says that its result is [{dp}:2 of 4, 3], but it is [{dp}:2 of 4, {tp}:3 of 6]; say the latter}}
    %0 = graph.broadcast %b dims [1] {dist.sharding = #batch, dist.global_type = tensor<4x3xf32>} : (tensor<3xf32>) -> tensor<2x3xf32>
    graph.yield %0 : tensor<2x3xf32>
  }
}

// -----

// No verifier compares these sizes.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @size(%x: tensor<3x4xf32>) -> tensor<3x3xf32> {
    // expected-error @below {{'graph.reverse' op has a result whose dimension 1 has 3 rows on each rank, but its operands make it whole, 4}}
    %0 = graph.reverse %x dims [0] : (tensor<3x4xf32>) -> tensor<3x3xf32>
    graph.yield %0 : tensor<3x3xf32>
  }
}

// -----

#b = #dist.sharding<[{},{tp:2}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [3, {tp}:2 of 4]}}
  graph.program @minor(%x: tensor<3x2xf32> {dist.sharding = #b, dist.global_type = tensor<3x4xf32>}) -> tensor<6xf32> {
    // expected-error @below {{'graph.reshape' op of [3, {tp}:2 of 4] cannot be [{tp}:6 of 12]: the cut dimension is joined behind another, so that a shard is no row of elements; gather what is cut before, or mend dist.sharding and dist.global_type}}
    %0 = graph.reshape %x {dist.sharding = #dist.sharding<[{tp:6}]>, dist.global_type = tensor<12xf32>} : (tensor<3x2xf32>) -> tensor<6xf32>
    graph.yield %0 : tensor<6xf32>
  }
}

// -----

#two = #dist.sharding<[{dp:3},{tp:2}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  // expected-note @below {{operand 0 is [{dp}:3 of 6, {tp}:2 of 4]}}
  graph.program @both(%x: tensor<3x2xf32> {dist.sharding = #two, dist.global_type = tensor<6x4xf32>}) -> tensor<6xf32> {
    // expected-error @below {{cannot be [{dp,tp}:6 of 24]: two of its dimensions that are joined are cut}}
    %0 = graph.reshape %x {dist.sharding = #dist.sharding<[{dp,tp:6}]>, dist.global_type = tensor<24xf32>} : (tensor<3x2xf32>) -> tensor<6xf32>
    graph.yield %0 : tensor<6xf32>
  }
}

// -----

#a = #dist.sharding<[{tp:3},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:3 of 6, 2]}}
  graph.program @axes(%x: tensor<3x2xf32> {dist.sharding = #a, dist.global_type = tensor<6x2xf32>}) -> tensor<6xf32> {
    // expected-error @below {{cannot be [{dp}:6 of 12]: their elements are cut over different axes}}
    %0 = graph.reshape %x {dist.sharding = #dist.sharding<[{dp:6}]>, dist.global_type = tensor<12xf32>} : (tensor<3x2xf32>) -> tensor<6xf32>
    graph.yield %0 : tensor<6xf32>
  }
}

// -----

#a = #dist.sharding<[{tp:3},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:3 of 6, 2]}}
  graph.program @sizes(%x: tensor<3x2xf32> {dist.sharding = #a, dist.global_type = tensor<6x2xf32>}) -> tensor<6xf32> {
    // expected-error @below {{'graph.reshape' op of [{tp}:3 of 6, 2] cannot be [6]: their whole sizes are not the same}}
    %0 = graph.reshape %x : (tensor<3x2xf32>) -> tensor<6xf32>
    graph.yield %0 : tensor<6xf32>
  }
}

// -----

// A complete value that says it is partial.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @claimed_partial(%x: tensor<3x1x2xf32> {dist.sharding = #dist.sharding<[{tp:3},{},{}]>, dist.global_type = tensor<5x1x2xf32>}) -> tensor<1x6xf32> {
    // expected-error @below {{'graph.reshape' op says that its result is [1, {tp}:6 of 10] partial sum over dp, but it is [1, {tp}:6 of 10]; say the latter}}
    %0 = graph.reshape %x {dist.sharding = #dist.sharding<[{},{tp:6}] unreduced{dp}>, dist.global_type = tensor<1x10xf32>} : (tensor<3x1x2xf32>) -> tensor<1x6xf32>
    graph.yield %0 : tensor<1x6xf32>
  }
}

// -----

// The same elements in all, but not on each rank.
#a = #dist.sharding<[{tp:2},{dp:3}]>
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 4, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:2 of 4, {dp}:3 of 6]}}
  graph.program @shards(%x: tensor<2x3xf32> {dist.sharding = #a, dist.global_type = tensor<4x6xf32>}) -> tensor<3x2xf32> {
    // expected-error @below {{'graph.reshape' op of [{tp}:2 of 4, {dp}:3 of 6] cannot be [{tp}:3 of 4, {dp}:2 of 6]: their shards do not have the same elements}}
    %0 = graph.reshape %x {dist.sharding = #dist.sharding<[{tp:3},{dp:2}]>, dist.global_type = tensor<4x6xf32>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    graph.yield %0 : tensor<3x2xf32>
  }
}

// -----

// One row over two ranks: the second has padding only.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:1 of 1]}}
  graph.program @cut_unit(%x: tensor<1xf32> {dist.sharding = #dist.sharding<[{tp:1}]>, dist.global_type = tensor<1xf32>}) -> tensor<4xf32> {
    // expected-error @below {{'graph.broadcast' op repeats dimension 0 of operand 0, which is cut over {tp} into 1 of 1: only one rank has it; gather it before by dist.all_gather}}
    %0 = graph.broadcast %x dims [0] : (tensor<1xf32>) -> tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
}
