// Each case leaves out, repeats or misplaces one movement of a share.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-gradient-sync

// C1: what each rank updates a share of is never summed.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<32 of @p from 0>}
    // expected-error @+1 {{is summed 0 times over dp, expected 1}}
    pipe.buffer gradient @g : tensor<64xf32> {dist.sharding = #dist.sharding<[{}] unreduced{dp,mb}>, pipe.of = @p, pipe.share = #pipe.share<32 of @g from 0>}
    pipe.task update {
      pipe.update "adamw" @p by @g
      pipe.gather_shares [@p] over "dp" why "test"
    }
  }
}

// -----

// C1: and twice.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<32 of @p from 0>}
    // expected-error @+1 {{is summed 2 times over dp, expected 1}}
    pipe.buffer gradient @g : tensor<64xf32> {dist.sharding = #dist.sharding<[{}] unreduced{dp,mb}>, pipe.of = @p, pipe.share = #pipe.share<32 of @g from 0>}
    pipe.task synchronize {
      pipe.synchronize [@g] over "dp" why "test"
      pipe.reduce_shares [@g] over "dp" why "test"
    }
  }
}

// -----

// C5: updated whole by a share of the gradient.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<64xf32>
    pipe.buffer gradient @g : tensor<64xf32> {dist.sharding = #dist.sharding<[{}] unreduced{dp,mb}>, pipe.of = @p, pipe.share = #pipe.share<32 of @g from 0>}
    pipe.task synchronize {
      pipe.reduce_shares [@g] over "dp" why "test"
    }
    pipe.task update {
      // expected-error @+1 {{updates all of 'p' by #pipe.share<32 of @g from 0> of its gradient; expected the same elements of both}}
      pipe.update "adamw" @p by @g
    }
  }
}

// -----

// C5: never gathered.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    // expected-error @+1 {{is gathered 0 times over dp after its update in shares, expected 1}}
    pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<32 of @p from 0>}
    pipe.buffer gradient @g : tensor<64xf32> {pipe.of = @p, pipe.share = #pipe.share<32 of @g from 0>}
    pipe.task update {
      pipe.update "adamw" @p by @g
    }
  }
}

// -----

// C5: gathered twice.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    // expected-error @+1 {{is gathered 2 times over dp after its update in shares, expected 1}}
    pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<32 of @p from 0>}
    pipe.buffer gradient @g : tensor<64xf32> {pipe.of = @p, pipe.share = #pipe.share<32 of @g from 0>}
    pipe.task update {
      pipe.update "adamw" @p by @g
      pipe.gather_shares [@p] over "dp" why "test"
      pipe.gather_shares [@p] over "dp" why "test"
    }
  }
}

// -----

// C5: gathered too early.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<32 of @p from 0>}
    pipe.buffer gradient @g : tensor<64xf32> {pipe.of = @p, pipe.share = #pipe.share<32 of @g from 0>}
    pipe.task update {
      // expected-error @+1 {{gathers 'p' before its update}}
      pipe.gather_shares [@p] over "dp" why "test"
      pipe.update "adamw" @p by @g
    }
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<32 of @p from 0>}
    pipe.task forward {
      // expected-error @+1 {{stands outside of the update task, or is not over dp}}
      pipe.gather_shares [@p] over "dp" why "test"
    }
  }
}

// -----

// C6: another share than the rank's own, all of it alike.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<32 of @p from 0>}
    pipe.buffer complete @c : tensor<64xf32>
    pipe.buffer gradient @g : tensor<32xf32> {dist.sharding = #dist.sharding<[{}] unreduced{dp,mb}>, pipe.of = @p, pipe.holds_share, pipe.share = #pipe.share<32 of @g from 0>}
    pipe.task backward {
      %0 = pipe.read @c : tensor<64xf32>
      %1 = dist.shard_slice %0 dim 0 over dp : (tensor<64xf32>) -> tensor<32xf32>
      // expected-error @+1 {{adds to 'g', of which a rank of dp holds a share, what is no dist.reduce_scatter sum over dp; each rank would add something else than its share}}
      pipe.accumulate %1 into @g : tensor<32xf32>
    }
  }
}

// -----

// C6: summed before it is scattered.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<8x8xf32> {pipe.share = #pipe.share<32 of @p from 0>}
    pipe.buffer complete @c : tensor<8x8xf32>
    pipe.buffer gradient @g : tensor<32xf32> {dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>, pipe.of = @p, pipe.holds_share, pipe.share = #pipe.share<32 of @g from 0>}
    pipe.task backward {
      %0 = pipe.read @c : tensor<8x8xf32>
      %1 = dist.all_reduce sum %0 over dp why "test" : tensor<8x8xf32>
      %2 = graph.reshape %1 : (tensor<8x8xf32>) -> tensor<64xf32>
      %3 = dist.reduce_scatter sum %2 dim 0 over dp why "test" : (tensor<64xf32>) -> tensor<32xf32>
      // expected-error @+1 {{adds to 'g' what is summed over dp twice}}
      pipe.accumulate %3 into @g : tensor<32xf32>
    }
  }
}

// -----

// C7: used as if it were whole.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<32xf32> of tensor<64xf32> {pipe.holds_share, pipe.share = #pipe.share<32 of @p from 0>}
    pipe.task forward {
      %0 = pipe.read @p : tensor<32xf32>
      // expected-error @+1 {{uses 'p', of which a rank of dp holds a share; it has to be gathered over dp first}}
      %1 = graph.neg %0 : tensor<32xf32>
    }
  }
}

// -----

// C7: gathered twice.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<32xf32> of tensor<64xf32> {pipe.holds_share, pipe.share = #pipe.share<32 of @p from 0>}
    pipe.task forward {
      %0 = pipe.read @p : tensor<32xf32>
      %1 = dist.all_gather %0 dim 0 over dp why "test" : (tensor<32xf32>) -> tensor<64xf32>
      // expected-error @+1 {{gathers 'p', which is whole, again}}
      %2 = dist.all_gather %1 dim 0 over dp why "test" : (tensor<64xf32>) -> tensor<128xf32>
    }
  }
}
