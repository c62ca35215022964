// The model after the level memory. This page is what the compiler prints; update.sh makes it.
// RUN: p3dc %S/model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=memory > %t && grep -v '^//' %s | diff - %t
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0, d1) -> ()>
#map4 = affine_map<() -> ()>
#map5 = affine_map<(d0) -> ()>
module attributes {dist.classes = [{axis = "tp", dims = {params.l0.down = array<i64: 0>, params.l0.up = array<i64: 1>}, units = 64 : i64}, {axis = "", dims = {batch.t = array<i64: 1>, batch.x = array<i64: 1>, "params.l*.down" = array<i64: 1>, "params.l*.up" = array<i64: 0>}, units = 16 : i64}, {axis = "tp", dims = {params.l1.down = array<i64: 0>, params.l1.up = array<i64: 1>}, units = 64 : i64}, {axis = "dp", dims = {batch.mask = array<i64: 0>, batch.t = array<i64: 0>, batch.x = array<i64: 0>}, units = 8 : i64}], dist.mesh = #dist.mesh<tp = 2, pp = 2, dp = 2, mb = 2>} {
  exec.function @layer.fwd(%arg0: memref<16x32xf32>, %arg1: memref<2x16xf32>, %arg2: memref<2x32xf32>) attributes {outs = 1 : i64, scratch_bytes = 256 : i64} {
    %0 = exec.temporary at 0 : memref<2x32xf32>
    exec.einsum "ab,bc->ac"(%arg1, %arg0) -> (%0) : (memref<2x16xf32>, memref<16x32xf32>) -> memref<2x32xf32>
    exec.launch @kernel.tanh(%0) -> (%arg2) : (memref<2x32xf32>) -> memref<2x32xf32>
  }
  exec.function @layer.bwd(%arg0: memref<2x32xf32>, %arg1: memref<2x16xf32>, %arg2: memref<2x32xf32>, %arg3: memref<16x32xf32>) attributes {outs = 1 : i64, scratch_bytes = 256 : i64} {
    %0 = exec.temporary at 0 : memref<2x32xf32>
    exec.launch @kernel.mul(%arg0, %arg2) -> (%0) : (memref<2x32xf32>, memref<2x32xf32>) -> memref<2x32xf32>
    exec.einsum "ac,ab->bc"(%0, %arg1) -> (%arg3) adds : (memref<2x32xf32>, memref<2x16xf32>) -> memref<16x32xf32>
  }
  exec.function @layer_1.fwd(%arg0: memref<2x32xf32>, %arg1: memref<32x16xf32>, %arg2: memref<2x16xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
    exec.einsum "ab,bc->ac"(%arg0, %arg1) -> (%arg2) : (memref<2x32xf32>, memref<32x16xf32>) -> memref<2x16xf32>
    exec.all_reduce  sum %arg2 over  tp 0 of f32 why "row-parallel product of params.l0.down leaves a partial sum; what follows the block needs it whole" : memref<2x16xf32>
  }
  exec.function @layer_1.bwd(%arg0: memref<2x16xf32>, %arg1: memref<2x32xf32>, %arg2: memref<32x16xf32>, %arg3: memref<2x32xf32>, %arg4: memref<32x16xf32>) attributes {outs = 2 : i64, scratch_bytes = 0 : i64} {
    exec.einsum "ac,bc->ab"(%arg0, %arg2) -> (%arg3) : (memref<2x16xf32>, memref<32x16xf32>) -> memref<2x32xf32>
    exec.einsum "ac,ab->bc"(%arg0, %arg1) -> (%arg4) adds : (memref<2x16xf32>, memref<2x32xf32>) -> memref<32x16xf32>
  }
  exec.function @last.fwd(%arg0: memref<2x16xf32>, %arg1: memref<16x32xf32>, %arg2: memref<32x16xf32>, %arg3: memref<2x16xf32>, %arg4: memref<2x16xf32>, %arg5: memref<2xf32>, %arg6: memref<f32>, %arg7: memref<f32>, %arg8: memref<2x16xf32>, %arg9: memref<2x32xf32>, %arg10: memref<2x16xf32>) attributes {outs = 4 : i64, scratch_bytes = 256 : i64} {
    exec.launch @kernel.add(%arg3, %arg0) -> (%arg8) : (memref<2x16xf32>, memref<2x16xf32>) -> memref<2x16xf32>
    %0 = exec.temporary at 0 : memref<2x32xf32>
    exec.einsum "ab,bc->ac"(%arg8, %arg1) -> (%0) : (memref<2x16xf32>, memref<16x32xf32>) -> memref<2x32xf32>
    exec.launch @kernel.tanh(%0) -> (%arg9) : (memref<2x32xf32>) -> memref<2x32xf32>
    %1 = exec.temporary at 0 : memref<2x16xf32>
    exec.einsum "ab,bc->ac"(%arg9, %arg2) -> (%1) : (memref<2x32xf32>, memref<32x16xf32>) -> memref<2x16xf32>
    exec.all_reduce  sum %1 over  tp 0 of f32 why "row-parallel product of params.l1.down leaves a partial sum; the addition after it needs it whole" : memref<2x16xf32>
    exec.launch @kernel.sub(%arg8, %1, %arg4) -> (%arg10) : (memref<2x16xf32>, memref<2x16xf32>, memref<2x16xf32>) -> memref<2x16xf32>
    %2 = exec.temporary at 0 : memref<f32>
    exec.launch @kernel.reduce_sum(%arg10, %arg5) -> (%2) : (memref<2x16xf32>, memref<2xf32>) -> memref<f32>
    %3 = exec.temporary at 64 : memref<f32>
    exec.launch @kernel.div(%2, %arg6) -> (%3) : (memref<f32>, memref<f32>) -> memref<f32>
    exec.launch @kernel.accumulate(%3) -> (%arg7) adds : (memref<f32>) -> memref<f32>
  }
  exec.function @last.bwd(%arg0: memref<f32>, %arg1: memref<16x32xf32>, %arg2: memref<32x16xf32>, %arg3: memref<2xf32>, %arg4: memref<f32>, %arg5: memref<2x16xf32>, %arg6: memref<2x32xf32>, %arg7: memref<2x16xf32>, %arg8: memref<2x16xf32>, %arg9: memref<16x32xf32>, %arg10: memref<32x16xf32>) attributes {outs = 3 : i64, scratch_bytes = 640 : i64} {
    %0 = exec.temporary at 128 : memref<f32>
    exec.launch @kernel.div(%arg0, %arg4) -> (%0) : (memref<f32>, memref<f32>) -> memref<f32>
    %1 = exec.temporary at 0 : memref<2x16xf32>
    exec.launch @kernel.add.1(%0, %arg3, %arg7) -> (%1) : (memref<f32>, memref<2xf32>, memref<2x16xf32>) -> memref<2x16xf32>
    %2 = exec.temporary at 384 : memref<2x32xf32>
    exec.einsum "ac,bc->ab"(%1, %arg2) -> (%2) : (memref<2x16xf32>, memref<32x16xf32>) -> memref<2x32xf32>
    exec.einsum "ac,ab->bc"(%1, %arg6) -> (%arg10) adds : (memref<2x16xf32>, memref<2x32xf32>) -> memref<32x16xf32>
    %3 = exec.temporary at 128 : memref<2x32xf32>
    exec.launch @kernel.mul(%2, %arg6) -> (%3) : (memref<2x32xf32>, memref<2x32xf32>) -> memref<2x32xf32>
    %4 = exec.temporary at 384 : memref<2x16xf32>
    exec.einsum "ac,bc->ab"(%3, %arg1) -> (%4) : (memref<2x32xf32>, memref<16x32xf32>) -> memref<2x16xf32>
    exec.all_reduce  sum %4 over  tp 0 of f32 why "column-parallel product of params.l1.up: the gradient of its input is a partial sum; the addition after it needs it whole" : memref<2x16xf32>
    exec.launch @kernel.add(%1, %4) -> (%arg8) : (memref<2x16xf32>, memref<2x16xf32>) -> memref<2x16xf32>
    exec.einsum "ac,ab->bc"(%3, %arg5) -> (%arg9) adds : (memref<2x32xf32>, memref<2x16xf32>) -> memref<16x32xf32>
  }
  exec.function @prologue(%arg0: memref<4xf32>, %arg1: memref<f32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
    exec.launch @kernel.reduce_sum.1(%arg0) -> (%arg1) : (memref<4xf32>) -> memref<f32>
    exec.all_reduce  sum %arg1 over  dp 0 of f32 why "a sum over the batch, which dp cuts; every microbatch needs it complete" : memref<f32>
  }
  exec.program @stage0 index 0 slots [2] arena 9984 zero 2048 at 6400 attributes {exec.least_bytes = 9472 : i64, layers = array<i64: 0, 0>, order = ["F0", "F1", "B0", "B1", "S", "U"]} {
    exec.buffer  parameter @params.l0.up at 0 : memref<16x32xf32> of f32 global tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>, graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l0.up", graph.role = "param"}
    exec.buffer  parameter @m.params.l0.up at 2048 : memref<16x32xf32> of f32 {exec.state = "m", exec.state_of = @params.l0.up}
    exec.buffer  parameter @v.params.l0.up at 4096 : memref<16x32xf32> of f32 {exec.state = "v", exec.state_of = @params.l0.up}
    exec.buffer  input @batch.x at 6144 : memref<4x16xf32> of f32 global tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp:4},{}]>, graph.batch_dim = 0 : i64, graph.name = "batch.x", graph.role = "input"}
    exec.slab @kept_forward_backward bytes 256 copies 2 at [8960, 9216]
    exec.buffer  activation @layer0.1 in @kept_forward_backward at 0 : memref<2x32xf32> of f32 {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}
    exec.buffer  gradient @grads.l0.up at 6400 : memref<16x32xf32> of f32 {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>, pipe.of = @params.l0.up}
    exec.slab @sent_forward sends 0 bytes 256 copies 2 at [8448, 8704]
    exec.buffer  activation @send.0.forward in @sent_forward at 0 : memref<2x32xf32> of f32
    exec.task  forward scratch 256 at 9472 attributes {exec.alive_bytes = 256 : i64} {
      %0 = exec.address @batch.x : memref<4x16xf32>
      %1 = exec.address @params.l0.up : memref<16x32xf32>
      %2 = exec.address @send.0.forward : memref<2x32xf32>
      %3 = exec.address @layer0.1 : memref<2x32xf32>
      %4 = exec.start [#dist<axis mb>] chunk 2
      %5 = exec.view %0 from %4 times 16 : memref<4x16xf32> to memref<2x16xf32>
      exec.call @layer.fwd(%1, %5) -> (%3) scratch 0 {layer = 0 : i64} : (memref<16x32xf32>, memref<2x16xf32>) -> memref<2x32xf32>
      exec.launch @kernel.copy(%3) -> (%2) : (memref<2x32xf32>) -> memref<2x32xf32>
      exec.send %2 to 1 channel 0 why "send to stage 1" : memref<2x32xf32>
    }
    exec.task  backward scratch 512 at 9472 attributes {exec.alive_bytes = 512 : i64} {
      %0 = exec.address @layer0.1 : memref<2x32xf32>
      %1 = exec.address @batch.x : memref<4x16xf32>
      %2 = exec.address @grads.l0.up : memref<16x32xf32>
      %3 = exec.temporary at 0 : memref<2x32xf32>
      exec.recv %3 from 1 channel 1 why "recv from stage 1" : memref<2x32xf32>
      %4 = exec.start [#dist<axis mb>] chunk 2
      %5 = exec.view %1 from %4 times 16 : memref<4x16xf32> to memref<2x16xf32>
      exec.call @layer.bwd(%3, %5, %0) -> (%2) scratch 256 {layer = 0 : i64} : (memref<2x32xf32>, memref<2x16xf32>, memref<2x32xf32>) -> memref<16x32xf32>
    }
    exec.task  synchronize scratch 0 at 9472 attributes {exec.alive_bytes = 0 : i64} {
      %0 = exec.address @grads.l0.up : memref<16x32xf32>
      exec.all_reduce  sum %0 over  dp 0 of f32 why "gradients are sums over the batch, which dp cuts" : memref<16x32xf32>
    }
    exec.task  update scratch 0 at 9472 attributes {exec.alive_bytes = 0 : i64} {
      exec.update "adamw" @params.l0.up by @grads.l0.up {decay}
    }
  }
  exec.program @stage1 index 1 slots [1] arena 27136 zero 6208 at 19072 attributes {exec.least_bytes = 26820 : i64, layers = array<i64: 1, 1>, order = ["P", "F0", "B0", "F1", "B1", "S", "U"]} {
    exec.buffer  parameter @params.l0.down at 0 : memref<32x16xf32> of f32 global tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>, graph.init = {kind = "normal", std = 1.250000e-01 : f64}, graph.name = "params.l0.down", graph.role = "param"}
    exec.buffer  parameter @m.params.l0.down at 2048 : memref<32x16xf32> of f32 {exec.state = "m", exec.state_of = @params.l0.down}
    exec.buffer  parameter @v.params.l0.down at 4096 : memref<32x16xf32> of f32 {exec.state = "v", exec.state_of = @params.l0.down}
    exec.buffer  parameter @params.l1.up at 6144 : memref<16x32xf32> of f32 global tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>, graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l1.up", graph.role = "param"}
    exec.buffer  parameter @m.params.l1.up at 8192 : memref<16x32xf32> of f32 {exec.state = "m", exec.state_of = @params.l1.up}
    exec.buffer  parameter @v.params.l1.up at 10240 : memref<16x32xf32> of f32 {exec.state = "v", exec.state_of = @params.l1.up}
    exec.buffer  parameter @params.l1.down at 12288 : memref<32x16xf32> of f32 global tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>, graph.init = {kind = "normal", std = 6.250000e-02 : f64}, graph.name = "params.l1.down", graph.role = "param"}
    exec.buffer  parameter @m.params.l1.down at 14336 : memref<32x16xf32> of f32 {exec.state = "m", exec.state_of = @params.l1.down}
    exec.buffer  parameter @v.params.l1.down at 16384 : memref<32x16xf32> of f32 {exec.state = "v", exec.state_of = @params.l1.down}
    exec.buffer  input @batch.x at 18432 : memref<4x16xf32> of f32 global tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp:4},{}]>, graph.batch_dim = 0 : i64, graph.name = "batch.x", graph.role = "input"}
    exec.buffer  input @batch.t at 18688 : memref<4x16xf32> of f32 global tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp:4},{}]>, graph.batch_dim = 0 : i64, graph.name = "batch.t", graph.role = "input"}
    exec.buffer  input @batch.mask at 18944 : memref<4xf32> of f32 global tensor<8xf32> {dist.sharding = #dist.sharding<[{dp:4}]>, graph.batch_dim = 0 : i64, graph.name = "batch.mask", graph.role = "input"}
    exec.buffer  complete @prologue.0 at 19008 : memref<f32> of f32
    exec.slab @kept_forward_backward bytes 768 copies 1 at [25536]
    exec.buffer  activation @last.1 in @kept_forward_backward at 0 : memref<2x16xf32> of f32 {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}
    exec.buffer  activation @last.2 in @kept_forward_backward at 128 : memref<2x32xf32> of f32 {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}
    exec.buffer  activation @last.3 in @kept_forward_backward at 384 : memref<2x16xf32> of f32 {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}
    exec.buffer  activation @layer0.0 in @kept_forward_backward at 512 : memref<2x32xf32> of f32 {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}
    exec.buffer  gradient @grads.l1.down at 19072 : memref<32x16xf32> of f32 {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>, pipe.of = @params.l1.down}
    exec.buffer  gradient @grads.l1.up at 21120 : memref<16x32xf32> of f32 {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>, pipe.of = @params.l1.up}
    exec.buffer  gradient @grads.l0.down at 23168 : memref<32x16xf32> of f32 {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>, pipe.of = @params.l0.down}
    exec.buffer  result @loss at 25216 : memref<f32> of f32 {dist.sharding = #dist.sharding<[] unreduced{dp,mb}>, graph.name = "loss"}
    exec.task  prologue scratch 0 at 26304 attributes {exec.alive_bytes = 0 : i64} {
      %0 = exec.address @batch.mask : memref<4xf32>
      %1 = exec.address @prologue.0 : memref<f32>
      exec.call @prologue(%0) -> (%1) scratch 0 : (memref<4xf32>) -> memref<f32>
    }
    exec.task  forward scratch 384 at 26304 attributes {exec.alive_bytes = 384 : i64} {
      %0 = exec.address @prologue.0 : memref<f32>
      %1 = exec.address @batch.mask : memref<4xf32>
      %2 = exec.address @batch.t : memref<4x16xf32>
      %3 = exec.address @batch.x : memref<4x16xf32>
      %4 = exec.address @params.l1.down : memref<32x16xf32>
      %5 = exec.address @params.l1.up : memref<16x32xf32>
      %6 = exec.address @params.l0.down : memref<32x16xf32>
      %7 = exec.address @loss : memref<f32>
      %8 = exec.address @last.3 : memref<2x16xf32>
      %9 = exec.address @last.2 : memref<2x32xf32>
      %10 = exec.address @last.1 : memref<2x16xf32>
      %11 = exec.address @layer0.0 : memref<2x32xf32>
      exec.recv %11 from 0 channel 0 why "recv from stage 0" : memref<2x32xf32>
      %12 = exec.temporary at 0 : memref<2x16xf32>
      exec.call @layer_1.fwd(%11, %6) -> (%12) scratch 0 {layer = 1 : i64} : (memref<2x32xf32>, memref<32x16xf32>) -> memref<2x16xf32>
      %13 = exec.start [#dist<axis mb>] chunk 2
      %14 = exec.view %3 from %13 times 16 : memref<4x16xf32> to memref<2x16xf32>
      %15 = exec.view %2 from %13 times 16 : memref<4x16xf32> to memref<2x16xf32>
      %16 = exec.view %1 from %13 times 1 : memref<4xf32> to memref<2xf32>
      exec.call @last.fwd(%12, %5, %4, %14, %15, %16, %0) -> (%7, %10, %9, %8) scratch 128 : (memref<2x16xf32>, memref<16x32xf32>, memref<32x16xf32>, memref<2x16xf32>, memref<2x16xf32>, memref<2xf32>, memref<f32>) -> (memref<f32>, memref<2x16xf32>, memref<2x32xf32>, memref<2x16xf32>)
    }
    exec.slab @sent_backward sends 0 bytes 256 copies 1 at [25280]
    exec.buffer  activation @send.1.backward in @sent_backward at 0 : memref<2x32xf32> of f32
    exec.task  backward scratch 832 at 26304 attributes {exec.alive_bytes = 772 : i64} {
      %0 = exec.address @params.l0.down : memref<32x16xf32>
      %1 = exec.address @layer0.0 : memref<2x32xf32>
      %2 = exec.address @last.3 : memref<2x16xf32>
      %3 = exec.address @last.2 : memref<2x32xf32>
      %4 = exec.address @last.1 : memref<2x16xf32>
      %5 = exec.address @prologue.0 : memref<f32>
      %6 = exec.address @batch.mask : memref<4xf32>
      %7 = exec.address @params.l1.down : memref<32x16xf32>
      %8 = exec.address @params.l1.up : memref<16x32xf32>
      %9 = exec.address @send.1.backward : memref<2x32xf32>
      %10 = exec.address @grads.l0.down : memref<32x16xf32>
      %11 = exec.address @grads.l1.up : memref<16x32xf32>
      %12 = exec.address @grads.l1.down : memref<32x16xf32>
      %13 = exec.temporary at 0 : memref<f32>
      exec.launch @kernel.constant() -> (%13) : () -> memref<f32>
      %14 = exec.start [#dist<axis mb>] chunk 2
      %15 = exec.view %6 from %14 times 1 : memref<4xf32> to memref<2xf32>
      %16 = exec.temporary at 64 : memref<2x16xf32>
      exec.call @last.bwd(%13, %8, %7, %15, %5, %4, %3, %2) -> (%16, %11, %12) scratch 192 : (memref<f32>, memref<16x32xf32>, memref<32x16xf32>, memref<2xf32>, memref<f32>, memref<2x16xf32>, memref<2x32xf32>, memref<2x16xf32>) -> (memref<2x16xf32>, memref<16x32xf32>, memref<32x16xf32>)
      exec.call @layer_1.bwd(%16, %1, %0) -> (%9, %10) scratch 0 {layer = 1 : i64} : (memref<2x16xf32>, memref<2x32xf32>, memref<32x16xf32>) -> (memref<2x32xf32>, memref<32x16xf32>)
      exec.send %9 to 0 channel 1 why "send to stage 0" : memref<2x32xf32>
    }
    exec.task  synchronize scratch 0 at 26304 attributes {exec.alive_bytes = 0 : i64} {
      %0 = exec.address @loss : memref<f32>
      %1 = exec.address @grads.l0.down : memref<32x16xf32>
      %2 = exec.address @grads.l1.up : memref<16x32xf32>
      %3 = exec.address @grads.l1.down : memref<32x16xf32>
      exec.all_reduce  sum %3, %2, %1 over  dp 0 of f32 why "gradients are sums over the batch, which dp cuts" : memref<32x16xf32>, memref<16x32xf32>, memref<32x16xf32>
      exec.all_reduce  sum %0 over  dp 0 of f32 why "the loss and the metrics are sums over the batch, which dp cuts" : memref<f32>
    }
    exec.task  update scratch 0 at 26304 attributes {exec.alive_bytes = 0 : i64} {
      exec.update "adamw" @params.l0.down by @grads.l0.down {decay}
      exec.update "adamw" @params.l1.down by @grads.l1.down {decay}
      exec.update "adamw" @params.l1.up by @grads.l1.up {decay}
    }
  }
  func.func private @kernel.tanh(%arg0: memref<64xf32> {llvm.noalias}, %arg1: memref<64xf32> {llvm.noalias}) {
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : memref<64xf32>) outs(%arg1 : memref<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = math.tanh %in : f32
      linalg.yield %0 : f32
    }
    return
  }
  func.func private @kernel.mul(%arg0: memref<64xf32> {llvm.noalias}, %arg1: memref<64xf32> {llvm.noalias}, %arg2: memref<64xf32> {llvm.noalias}) {
    linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg0, %arg1 : memref<64xf32>, memref<64xf32>) outs(%arg2 : memref<64xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %cst = arith.constant 1.000000e+00 : f32
      %0 = arith.mulf %in_0, %in_0 : f32
      %1 = arith.subf %cst, %0 : f32
      %2 = arith.mulf %in, %1 : f32
      linalg.yield %2 : f32
    }
    return
  }
  func.func private @kernel.add(%arg0: memref<32xf32> {llvm.noalias}, %arg1: memref<32xf32> {llvm.noalias}, %arg2: memref<32xf32> {llvm.noalias}) {
    linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg0, %arg1 : memref<32xf32>, memref<32xf32>) outs(%arg2 : memref<32xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %0 = arith.addf %in, %in_0 : f32
      linalg.yield %0 : f32
    }
    return
  }
  func.func private @kernel.sub(%arg0: memref<32xf32> {llvm.noalias}, %arg1: memref<32xf32> {llvm.noalias}, %arg2: memref<32xf32> {llvm.noalias}, %arg3: memref<32xf32> {llvm.noalias}) {
    linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel"]} ins(%arg0, %arg1, %arg2 : memref<32xf32>, memref<32xf32>, memref<32xf32>) outs(%arg3 : memref<32xf32>) {
    ^bb0(%in: f32, %in_0: f32, %in_1: f32, %out: f32):
      %0 = arith.addf %in, %in_0 : f32
      %1 = arith.subf %0, %in_1 : f32
      linalg.yield %1 : f32
    }
    return
  }
  func.func private @kernel.reduce_sum(%arg0: memref<32xf32> {llvm.noalias}, %arg1: memref<2xf32> {llvm.noalias}, %arg2: memref<1xf32> {llvm.noalias}) {
    %reinterpret_cast = memref.reinterpret_cast %arg0 to offset: [0], sizes: [2, 16], strides: [16, 1] : memref<32xf32> to memref<2x16xf32, strided<[16, 1]>>
    %reinterpret_cast_0 = memref.reinterpret_cast %arg2 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    %cst = arith.constant 0.000000e+00 : f32
    linalg.fill ins(%cst : f32) outs(%arg2 : memref<1xf32>)
    linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["reduction", "reduction"]} ins(%reinterpret_cast, %arg1 : memref<2x16xf32, strided<[16, 1]>>, memref<2xf32>) outs(%reinterpret_cast_0 : memref<f32, strided<[]>>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %0 = arith.mulf %in, %in : f32
      %1 = arith.mulf %0, %in_1 : f32
      %2 = arith.addf %out, %1 fastmath<reassoc> : f32
      linalg.yield %2 : f32
    }
    return
  }
  func.func private @kernel.div(%arg0: memref<1xf32> {llvm.noalias}, %arg1: memref<1xf32> {llvm.noalias}, %arg2: memref<1xf32> {llvm.noalias}) {
    %reinterpret_cast = memref.reinterpret_cast %arg0 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    %reinterpret_cast_0 = memref.reinterpret_cast %arg1 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    %reinterpret_cast_1 = memref.reinterpret_cast %arg2 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = []} ins(%reinterpret_cast, %reinterpret_cast_0 : memref<f32, strided<[]>>, memref<f32, strided<[]>>) outs(%reinterpret_cast_1 : memref<f32, strided<[]>>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %0 = arith.divf %in, %in_2 : f32
      linalg.yield %0 : f32
    }
    return
  }
  func.func private @kernel.accumulate(%arg0: memref<1xf32> {llvm.noalias}, %arg1: memref<1xf32> {llvm.noalias}) {
    %reinterpret_cast = memref.reinterpret_cast %arg0 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    %reinterpret_cast_0 = memref.reinterpret_cast %arg1 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    linalg.generic {indexing_maps = [#map4, #map4], iterator_types = []} ins(%reinterpret_cast : memref<f32, strided<[]>>) outs(%reinterpret_cast_0 : memref<f32, strided<[]>>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in fastmath<reassoc> : f32
      linalg.yield %0 : f32
    }
    return
  }
  func.func private @kernel.add.1(%arg0: memref<1xf32> {llvm.noalias}, %arg1: memref<2xf32> {llvm.noalias}, %arg2: memref<32xf32> {llvm.noalias}, %arg3: memref<32xf32> {llvm.noalias}) {
    %reinterpret_cast = memref.reinterpret_cast %arg0 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    %reinterpret_cast_0 = memref.reinterpret_cast %arg2 to offset: [0], sizes: [2, 16], strides: [16, 1] : memref<32xf32> to memref<2x16xf32, strided<[16, 1]>>
    %reinterpret_cast_1 = memref.reinterpret_cast %arg3 to offset: [0], sizes: [2, 16], strides: [16, 1] : memref<32xf32> to memref<2x16xf32, strided<[16, 1]>>
    linalg.generic {indexing_maps = [#map3, #map2, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%reinterpret_cast, %arg1, %reinterpret_cast_0 : memref<f32, strided<[]>>, memref<2xf32>, memref<2x16xf32, strided<[16, 1]>>) outs(%reinterpret_cast_1 : memref<2x16xf32, strided<[16, 1]>>) {
    ^bb0(%in: f32, %in_2: f32, %in_3: f32, %out: f32):
      %0 = arith.mulf %in, %in_2 : f32
      %1 = arith.mulf %0, %in_3 : f32
      %2 = arith.mulf %0, %in_3 : f32
      %3 = arith.addf %1, %2 : f32
      linalg.yield %3 : f32
    }
    return
  }
  func.func private @kernel.reduce_sum.1(%arg0: memref<4xf32> {llvm.noalias}, %arg1: memref<1xf32> {llvm.noalias}) {
    %reinterpret_cast = memref.reinterpret_cast %arg1 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    %cst = arith.constant 0.000000e+00 : f32
    linalg.fill ins(%cst : f32) outs(%arg1 : memref<1xf32>)
    linalg.generic {indexing_maps = [#map, #map5], iterator_types = ["reduction"]} ins(%arg0 : memref<4xf32>) outs(%reinterpret_cast : memref<f32, strided<[]>>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in fastmath<reassoc> : f32
      linalg.yield %0 : f32
    }
    return
  }
  func.func private @kernel.copy(%arg0: memref<64xf32> {llvm.noalias}, %arg1: memref<64xf32> {llvm.noalias}) {
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : memref<64xf32>) outs(%arg1 : memref<64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    return
  }
  func.func private @kernel.constant(%arg0: memref<1xf32> {llvm.noalias}) {
    %reinterpret_cast = memref.reinterpret_cast %arg0 to offset: [0], sizes: [], strides: [] : memref<1xf32> to memref<f32, strided<[]>>
    linalg.generic {indexing_maps = [#map4], iterator_types = []} outs(%reinterpret_cast : memref<f32, strided<[]>>) {
    ^bb0(%out: f32):
      %cst = arith.constant 1.000000e+00 : f32
      linalg.yield %cst : f32
    }
    return
  }
}

