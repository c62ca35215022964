// Every op of the dialect prints as it was read.
// RUN: p3dc-opt %s | p3dc-opt | FileCheck %s

// CHECK: pipe.stage @stage0 index 0 layers [0, 3] attributes {order = ["P", "F0", "B0", "S", "U"], slots = array<i64: 1>} {
pipe.stage @stage0 index 0 layers [0, 3] attributes {order = ["P", "F0", "B0", "S", "U"], slots = array<i64: 1>} {
  // CHECK: pipe.buffer {{ ?}}parameter @params.w : tensor<4xf32> of tensor<8xf32> {graph.role = "param"}
  pipe.buffer parameter @params.w : tensor<4xf32> of tensor<8xf32> {graph.role = "param"}
  pipe.buffer input @batch.x : tensor<8xf32>
  pipe.buffer complete @n : tensor<f32>
  pipe.buffer activation @a : tensor<4xf32>
  pipe.buffer gradient @grads.w : tensor<4xf32> {pipe.of = @params.w}
  pipe.buffer result @loss : tensor<f32>
  pipe.task prologue {
    %0 = graph.constant dense<2.0> : tensor<f32>
    // CHECK: pipe.write %{{.*}} to @n : tensor<f32>
    pipe.write %0 to @n : tensor<f32>
  }
  // CHECK: pipe.task {{ ?}}forward {
  pipe.task forward {
    // CHECK: pipe.read @params.w : tensor<4xf32>
    %0 = pipe.read @params.w : tensor<4xf32>
    pipe.write %0 to @a : tensor<4xf32>
    // CHECK: pipe.send %{{.*}} to 1 channel 0 : tensor<4xf32>
    pipe.send %0 to 1 channel 0 : tensor<4xf32>
  }
  pipe.task backward {
    // CHECK: pipe.recv from 1 channel 1 : tensor<4xbf16>
    %0 = pipe.recv from 1 channel 1 : tensor<4xbf16>
    // CHECK: pipe.accumulate %{{.*}} into @grads.w : tensor<4xbf16>
    pipe.accumulate %0 into @grads.w : tensor<4xbf16>
  }
  pipe.task synchronize {
    // CHECK: pipe.reduce_tied @grads.w stages [0, 3] group 0
    pipe.reduce_tied @grads.w stages [0, 3] group 0
    // CHECK: pipe.synchronize [@grads.w] over "dp" why "test"
    pipe.synchronize [@grads.w] over "dp" why "test"
  }
  pipe.task update {
    // CHECK: pipe.update "adamw" @params.w by @grads.w {decay}
    pipe.update "adamw" @params.w by @grads.w {decay}
  }
}

// CHECK-LABEL: pipe.stage @shares
pipe.stage @shares index 0 layers [0, 0] {
  // CHECK: parameter @p : tensor<48xf32> {pipe.share = #pipe.share<64 of @p from 0>}
  pipe.buffer parameter @p : tensor<48xf32> {pipe.share = #pipe.share<64 of @p from 0>}
  pipe.buffer parameter @q : tensor<64xf32> {pipe.share = #pipe.share<64 of @p from 64>}
  pipe.buffer gradient @g : tensor<48xf32> {pipe.of = @p, pipe.share = #pipe.share<64 of @g from 0>}
  pipe.buffer gradient @h : tensor<32xf32> {pipe.of = @q, pipe.holds_share, pipe.share = #pipe.share<32 of @h from 0>}
  pipe.task synchronize {
    // CHECK: pipe.reduce_shares [@g] over "dp" why "test"
    pipe.reduce_shares [@g] over "dp" why "test"
  }
  pipe.task update {
    // CHECK: pipe.gather_shares [@p, @q] over "dp" why "test"
    pipe.gather_shares [@p, @q] over "dp" why "test"
  }
}
