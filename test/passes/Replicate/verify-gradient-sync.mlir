// Each case leaves out, repeats or misplaces one sum.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-gradient-sync

// C1: never summed.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<4xf32>
    // expected-error @+1 {{is summed 0 times over dp, expected 1}}
    pipe.buffer gradient @g : tensor<4xf32> {dist.sharding = #dist.sharding<[{}] unreduced{dp,mb}>, pipe.of = @p}
  }
}

// -----

// C1: a complete gradient must not be summed.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<4xf32>
    // expected-error @+1 {{is summed 1 times over dp, expected 0}}
    pipe.buffer gradient @g : tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>, pipe.of = @p}
    pipe.task synchronize {
      pipe.synchronize [@g] over "dp" why "test"
    }
  }
}

// -----

// C2
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<4xf32>
    // expected-error @+1 {{is summed 0 times over tied, expected 1}}
    pipe.buffer gradient @g : tensor<4xf32> {pipe.of = @p, pipe.tied_stages = array<i64: 0, 1>}
  }
}

// -----

// C3
// expected-error @+1 {{stages 0 and 1 sum the copies of tied group 0 in different orders}}
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<4xf32>
    pipe.buffer gradient @g : tensor<4xf32> {pipe.of = @p, pipe.tied_stages = array<i64: 0, 1>}
    pipe.buffer gradient @h : tensor<4xf32> {pipe.of = @p, pipe.tied_stages = array<i64: 0, 1>}
    pipe.task synchronize {
      pipe.reduce_tied @g stages [0, 1] group 0
      pipe.reduce_tied @h stages [0, 1] group 0
    }
  }
  pipe.stage @stage1 index 1 layers [1, 1] {
    pipe.buffer parameter @p : tensor<4xf32>
    pipe.buffer gradient @g : tensor<4xf32> {pipe.of = @p, pipe.tied_stages = array<i64: 0, 1>}
    pipe.buffer gradient @h : tensor<4xf32> {pipe.of = @p, pipe.tied_stages = array<i64: 0, 1>}
    pipe.task synchronize {
      pipe.reduce_tied @h stages [0, 1] group 0
      pipe.reduce_tied @g stages [0, 1] group 0
    }
  }
}

// -----

// C4
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer parameter @p : tensor<4xf32>
    pipe.buffer gradient @g : tensor<4xf32> {dist.sharding = #dist.sharding<[{}] unreduced{tp,dp}>, pipe.of = @p}
    pipe.task synchronize {
      pipe.synchronize [@g] over "dp" why "test"
      // expected-error @+1 {{sums 'g' over tp after dp; the order is tp, tied, dp}}
      pipe.synchronize [@g] over "tp" why "test"
    }
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer result @loss : tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp}>}
    pipe.task backward {
      // expected-error @+1 {{stands outside of the synchronize task}}
      pipe.synchronize [@loss] over "dp" why "test"
    }
  }
}
