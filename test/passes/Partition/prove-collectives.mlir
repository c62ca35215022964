// What the proof refuses of collectives, slices and masks: reductions done twice, gathers of what is whole, other axes and dimensions. One case for each message.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-partition

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @twice(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<f32> {
    %0 = graph.reduce sum %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    // expected-note @below {{operand 0 is []}}
    %1 = dist.all_reduce sum %0 over tp why "test" : tensor<f32>
    // expected-error @below {{'dist.all_reduce' op reduces over tp what is no partial sum over it, so that it is combined once too often; leave it out, or name the axis that left parts}}
    %2 = dist.all_reduce sum %1 over tp why "test" : tensor<f32>
    graph.yield %2 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  graph.program @other_axis(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<f32> {
    // expected-note @below {{operand 0 is [] partial sum over tp}}
    %0 = graph.reduce sum %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    // expected-error @below {{'dist.all_reduce' op reduces over dp what is no partial sum over it}}
    %1 = dist.all_reduce sum %0 over dp why "test" : tensor<f32>
    graph.yield %1 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  graph.program @other_kind(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<f32> {
    // expected-note @below {{operand 0 is [] partial max over tp}}
    %0 = graph.reduce max %x dims [0] : (tensor<3xf32>) -> tensor<f32>
    // expected-error @below {{'dist.all_reduce' op combines by sum a partial max; use the latter}}
    %1 = dist.all_reduce sum %0 over tp why "test" : tensor<f32>
    graph.yield %1 : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 2>} {
  // expected-note @below {{operand 0 is [3] partial sum over mb}}
  graph.program @in_time(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{}] unreduced{mb}>, dist.global_type = tensor<3xf32>}) -> tensor<3xf32> {
    // expected-error @below {{'dist.all_reduce' op communicates over mb, whose members do not run this op side by side; use tp or dp}}
    %0 = dist.all_reduce sum %x over mb why "test" : tensor<3xf32>
    graph.yield %0 : tensor<3xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [3]}}
  graph.program @whole(%x: tensor<3xf32>) -> tensor<6xf32> {
    // expected-error @below {{'dist.all_gather' op gathers dimension 0 over tp, but it is whole, 3; gather a dimension that the axis cuts}}
    %0 = dist.all_gather %x dim 0 over tp why "test" : (tensor<3xf32>) -> tensor<6xf32>
    graph.yield %0 : tensor<6xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  // expected-note @below {{operand 0 is [{dp,tp}:3 of 12]}}
  graph.program @order(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{dp,tp:3}]>, dist.global_type = tensor<12xf32>}) -> tensor<6xf32> {
    // expected-error @below {{'dist.all_gather' op gathers dimension 0 over dp, but it is cut over {dp,tp} into 3 of 12; gather the last of its axes first}}
    %0 = dist.all_gather %x dim 0 over dp why "test" : (tensor<3xf32>) -> tensor<6xf32>
    graph.yield %0 : tensor<6xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:3 of 6]}}
  graph.program @no_dimension(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<6xf32>}) -> tensor<6xf32> {
    // expected-error @below {{'dist.all_gather' op moves dimension 1 of a tensor that has 1; name one of these}}
    %0 = dist.all_gather %x dim 1 over tp why "test" : (tensor<3xf32>) -> tensor<6xf32>
    graph.yield %0 : tensor<6xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:3 of 5]}}
  graph.program @size(%x: tensor<3xf32> {dist.sharding = #dist.sharding<[{tp:3}]>, dist.global_type = tensor<5xf32>}) -> tensor<6xf32> {
    // expected-error @below {{'dist.all_gather' op makes dimension 0 whole, 5, but its result has 6 rows; mend the type of the result}}
    %0 = dist.all_gather %x dim 0 over tp why "test" : (tensor<3xf32>) -> tensor<6xf32>
    graph.yield %0 : tensor<6xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:4 of 8, 4]}}
  graph.program @slice_of_shard(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<[{tp:4},{}]>, dist.global_type = tensor<8x4xf32>}) -> tensor<4x2xf32> {
    // expected-error @below {{'dist.shard_slice' op takes a shard over tp of what each rank has another part of already; complete or gather it first, or leave the slice out}}
    %0 = dist.shard_slice %x dim 1 over tp : (tensor<4x4xf32>) -> tensor<4x2xf32>
    graph.yield %0 : tensor<4x2xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 2, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [4]}}
  graph.program @stages(%x: tensor<4xf32>) -> tensor<2xf32> {
    // expected-error @below {{'dist.shard_slice' op communicates over pp, whose members}}
    %0 = dist.shard_slice %x dim 0 over pp : (tensor<4xf32>) -> tensor<2xf32>
    graph.yield %0 : tensor<2xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [5]}}
  graph.program @too_small(%x: tensor<5xf32>) -> tensor<2xf32> {
    // expected-error @below {{'dist.shard_slice' op cuts 5 rows into 2 shards of 2, which do not cover them; mend the type of the result}}
    %0 = dist.shard_slice %x dim 0 over tp : (tensor<5xf32>) -> tensor<2xf32>
    graph.yield %0 : tensor<2xf32>
  }
}

// -----

// A shard of a shard has to be an equal part: rows of uneven ones do not lie one after the other.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  // expected-note @below {{operand 0 is [{dp}:5 of 10]}}
  graph.program @nested(%x: tensor<5xf32> {dist.sharding = #dist.sharding<[{dp:5}]>, dist.global_type = tensor<10xf32>}) -> tensor<3xf32> {
    // expected-error @below {{'dist.shard_slice' op cuts 5 rows into 2 shards of 3, which do not divide them; mend the type of the result}}
    %0 = dist.shard_slice %x dim 0 over tp : (tensor<5xf32>) -> tensor<3xf32>
    graph.yield %0 : tensor<3xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 1>} {
  // expected-note @below {{operand 0 is [{tp}:4 of 7]}}
  graph.program @mask(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:4}]>, dist.global_type = tensor<7xf32>}) -> tensor<4xf32> {
    // expected-error @below {{'dist.mask_padding' op masks dimension 0 as if it were cut over {tp} into 4 of 6, but it is cut over {tp} into 4 of 7; say the latter}}
    %0 = dist.mask_padding %x <dim 0 over {tp} chunk 4 of 6> value 0.0 : tensor<4xf32>
    graph.yield %0 : tensor<4xf32>
  }
}

// -----

// Over the ranks that share a key head its gradient is partial, and over no others.
#q = #dist.sharding<[{},{},{tp:1},{}]>
#k = #dist.sharding<[{},{},{tp_major:1},{}]>
#lse = #dist.sharding<[{},{tp:1},{}]>
module attributes {dist.mesh = #dist.mesh<tp = 4, pp = 1, dp = 1, mb = 1, tp_minor = 2>} {
  graph.program @parts_of_tp(%q: tensor<2x3x1x4xf32> {dist.sharding = #q, dist.global_type = tensor<2x3x4x4xf32>},
                             %k: tensor<2x3x1x4xf32> {dist.sharding = #k, dist.global_type = tensor<2x3x2x4xf32>},
                             %lse: tensor<2x1x3xf32> {dist.sharding = #lse, dist.global_type = tensor<2x4x3xf32>}) -> tensor<2x3x1x4xf32> {
    // expected-note @below {{operand 0 is [2, 3, {tp_major}:1 of 2, 4] partial sum over tp_minor}}
    %dq, %dk, %dv = graph.attention_grad %q, %q, %k, %k, %q, %lse {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>, tensor<2x1x3xf32>) -> (tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>, tensor<2x3x1x4xf32>)
    %0 = dist.all_reduce sum %dv over tp_minor why "test" : tensor<2x3x1x4xf32>
    // expected-error @below {{'dist.all_reduce' op reduces over tp_major what is no partial sum over it}}
    %1 = dist.all_reduce sum %dk over tp why "test" : tensor<2x3x1x4xf32>
    graph.yield %1 : tensor<2x3x1x4xf32>
  }
}
