// What has no form in memory, or no kernel.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-bufferize

// A sum over microbatches within one.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 2>} {
  graph.block @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    // expected-error @below {{'dist.all_reduce' op is over mb, which is an axis in time; microbatches are combined by pipe.accumulate}}
    %0 = dist.all_reduce sum %x over mb why "test" : tensor<4x8xf32>
    graph.yield %0 : tensor<4x8xf32>
  }
}

// -----

// An operation of an earlier level.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 2>} {
  graph.block @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    // expected-error @below {{'dist.reshard' op has no form in memory}}
    %0 = dist.reshard %x from <[{},{}]> to <[{},{}]> why "test" : tensor<4x8xf32>
    graph.yield %0 : tensor<4x8xf32>
  }
}

// -----

// A function of floats on integers.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 2>} {
  graph.block @layer(%x: tensor<4x8xi32>) -> tensor<4x8xf32> {
    // expected-error @below {{'graph.pow' op has no kernel for elements of type 'i32'; convert them to f32 first}}
    %e = graph.pow %x, %x : tensor<4x8xi32>
    %0 = graph.convert %e : (tensor<4x8xi32>) -> tensor<4x8xf32>
    graph.yield %0 : tensor<4x8xf32>
  }
}

// -----

// A library kernel on an element type that it lacks.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 2>} {
  graph.block @layer(%x: tensor<4x8xf64>) -> tensor<4x8xf32> {
    // expected-error @below {{'graph.softmax' op has no kernel for 'tensor<4x8xf64>'; convert it to f32 or bf16 (indices to i32) first}}
    %e = graph.softmax %x : tensor<4x8xf64>
    %0 = graph.convert %e : (tensor<4x8xf64>) -> tensor<4x8xf32>
    graph.yield %0 : tensor<4x8xf32>
  }
}

// -----

// Statistics in bf16.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 2>} {
  graph.block @layer(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
    // expected-error @below {{'graph.rms_norm' op has statistics of type 'tensor<4xbf16>', expected f32}}
    %0, %r = graph.rms_norm %x, %w {epsilon = 1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xbf16>)
    graph.yield %0 : tensor<4x8xf32>
  }
}

// -----

// A task that sets what it has read.
pipe.stage @stage0 index 0 layers [0, 0] attributes {slots = array<i64: 1>, order = ["F0"]} {
  pipe.buffer activation @a : tensor<f32>
  pipe.task forward {
    %0 = pipe.read @a : tensor<f32>
    %1 = graph.exp %0 : tensor<f32>
    // expected-error @below {{sets 'a', which the same task reads; a task reads the values of earlier tasks}}
    pipe.write %1 to @a : tensor<f32>
  }
}

// -----

// A synchronisation over no group of ranks.
pipe.stage @stage0 index 0 layers [0, 0] attributes {slots = array<i64: 1>, order = ["S"]} {
  pipe.buffer result @loss : tensor<f32>
  pipe.task synchronize {
    // expected-error @below {{is over 'ep'; expected tp, dp, pp, norm, tp_major or tp_minor}}
    pipe.synchronize [@loss] over "ep" why "test"
  }
}

// -----

pipe.stage @stage0 index 0 layers [0, 0] attributes {slots = array<i64: 1>} {
  pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<32 of @p from 0>}
  pipe.task update {
    // expected-error @+1 {{is over 'tp'; shares are those of dp}}
    pipe.gather_shares [@p] over "tp" why "test"
  }
}
