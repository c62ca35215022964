// The model after the level schedule. This page is what the compiler prints; update.sh makes it.
// RUN: p3dc %S/model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=schedule > %t && grep -v '^//' %s | diff - %t
module attributes {dist.classes = [{axis = "tp", dims = {params.l0.down = array<i64: 0>, params.l0.up = array<i64: 1>}, units = 64 : i64}, {axis = "", dims = {batch.t = array<i64: 1>, batch.x = array<i64: 1>, "params.l*.down" = array<i64: 1>, "params.l*.up" = array<i64: 0>}, units = 16 : i64}, {axis = "tp", dims = {params.l1.down = array<i64: 0>, params.l1.up = array<i64: 1>}, units = 64 : i64}, {axis = "dp", dims = {batch.mask = array<i64: 0>, batch.t = array<i64: 0>, batch.x = array<i64: 0>}, units = 8 : i64}], dist.mesh = #dist.mesh<tp = 2, pp = 2, dp = 2, mb = 2>} {
  graph.block @layer.fwd(%arg0: tensor<16x32xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>}, %arg1: tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}) -> (tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}) attributes {graph.saves = 1 : i64} {
    %0 = graph.einsum "ab,bc->ac" %arg1, %arg0 {graph.id = 0 : i64} : (tensor<2x16xf32>, tensor<16x32xf32>) -> tensor<2x32xf32>
    %1 = graph.tanh %0 {graph.id = 1 : i64} : tensor<2x32xf32>
    graph.yield %1, %1 : tensor<2x32xf32>, tensor<2x32xf32>
  }
  graph.block @layer.bwd(%arg0: tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, %arg1: tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg2: tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}) -> (tensor<16x32xf32> {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>}) attributes {graph.backward_of = @layer.fwd} {
    %0 = graph.mul %arg2, %arg2 {graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<2x32xf32>
    %1 = graph.constant {dist.global_type = tensor<8x64xf32>, dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>, graph.grad_role = "input_grad", graph.of = 1 : i64} dense<1.000000e+00> : tensor<2x32xf32>
    %2 = graph.sub %1, %0 {graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<2x32xf32>
    %3 = graph.mul %arg0, %2 {graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<2x32xf32>
    %4 = graph.einsum "ac,ab->bc" %3, %arg1 {graph.grad_role = "weight_grad", graph.of = 0 : i64} : (tensor<2x32xf32>, tensor<2x16xf32>) -> tensor<16x32xf32>
    graph.yield %4 : tensor<16x32xf32>
  }
  graph.block @layer_1.fwd(%arg0: tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, %arg1: tensor<32x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>}) -> (tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}) attributes {graph.saves = 0 : i64} {
    %0 = graph.einsum "ab,bc->ac" %arg0, %arg1 {graph.id = 0 : i64} : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
    %1 = dist.all_reduce  sum %0 over  tp why "row-parallel product of params.l0.down leaves a partial sum; what follows the block needs it whole" {dist.parameters = ["params.l0.down"], dist.remedy = "tp=1"} : tensor<2x16xf32>
    graph.yield %1 : tensor<2x16xf32>
  }
  graph.block @layer_1.bwd(%arg0: tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg1: tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, %arg2: tensor<32x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>}) -> (tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, tensor<32x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>}) attributes {graph.backward_of = @layer_1.fwd} {
    %0 = graph.einsum "ac,bc->ab" %arg0, %arg2 {graph.grad_role = "input_grad", graph.of = 0 : i64} : (tensor<2x16xf32>, tensor<32x16xf32>) -> tensor<2x32xf32>
    %1 = graph.einsum "ac,ab->bc" %arg0, %arg1 {graph.grad_role = "weight_grad", graph.of = 0 : i64} : (tensor<2x16xf32>, tensor<2x32xf32>) -> tensor<32x16xf32>
    graph.yield %0, %1 : tensor<2x32xf32>, tensor<32x16xf32>
  }
  graph.block @last.fwd(%arg0: tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg1: tensor<16x32xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>}, %arg2: tensor<32x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>}, %arg3: tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg4: tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg5: tensor<2xf32> {dist.sharding = #dist.sharding<[{dp,mb:2}]>}, %arg6: tensor<f32> {dist.sharding = #dist.sharding<[]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp,mb}>}, tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}) attributes {graph.saves = 3 : i64} {
    %0 = graph.add %arg3, %arg0 {graph.id = 0 : i64} : tensor<2x16xf32>
    %1 = graph.einsum "ab,bc->ac" %0, %arg1 {graph.id = 1 : i64} : (tensor<2x16xf32>, tensor<16x32xf32>) -> tensor<2x32xf32>
    %2 = graph.tanh %1 {graph.id = 2 : i64} : tensor<2x32xf32>
    %3 = graph.einsum "ab,bc->ac" %2, %arg2 {graph.id = 3 : i64} : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
    %4 = dist.all_reduce  sum %3 over  tp why "row-parallel product of params.l1.down leaves a partial sum; the addition after it needs it whole" {dist.parameters = ["params.l1.down"], dist.remedy = "tp=1"} : tensor<2x16xf32>
    %5 = graph.add %0, %4 {graph.id = 4 : i64} : tensor<2x16xf32>
    %6 = graph.sub %5, %arg4 {graph.id = 5 : i64} : tensor<2x16xf32>
    %7 = graph.mul %6, %6 {graph.id = 6 : i64} : tensor<2x16xf32>
    %8 = graph.broadcast %arg5 dims [0] {dist.global_type = tensor<8x16xf32>, dist.sharding = #dist.sharding<[{dp,mb:2},{}]>, graph.id = 7 : i64} : (tensor<2xf32>) -> tensor<2x16xf32>
    %9 = graph.mul %7, %8 {graph.id = 8 : i64} : tensor<2x16xf32>
    %10 = graph.reduce  sum %9 dims [0, 1] {graph.id = 9 : i64} : (tensor<2x16xf32>) -> tensor<f32>
    %11 = graph.div %10, %arg6 {graph.id = 10 : i64} : tensor<f32>
    graph.yield %11, %0, %2, %6 : tensor<f32>, tensor<2x16xf32>, tensor<2x32xf32>, tensor<2x16xf32>
  }
  graph.block @last.bwd(%arg0: tensor<f32> {dist.sharding = #dist.sharding<[]>}, %arg1: tensor<16x32xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>}, %arg2: tensor<32x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>}, %arg3: tensor<2xf32> {dist.sharding = #dist.sharding<[{dp,mb:2}]>}, %arg4: tensor<f32> {dist.sharding = #dist.sharding<[]>}, %arg5: tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg6: tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, %arg7: tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}) -> (tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, tensor<16x32xf32> {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>}, tensor<32x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>}) attributes {graph.backward_of = @last.fwd} {
    %0 = graph.div %arg0, %arg4 {graph.grad_role = "input_grad", graph.of = 10 : i64} : tensor<f32>
    %1 = graph.broadcast %0 dims [] {dist.global_type = tensor<8x16xf32>, dist.sharding = #dist.sharding<[{dp,mb:2},{}]>, graph.grad_role = "input_grad", graph.of = 9 : i64} : (tensor<f32>) -> tensor<2x16xf32>
    %2 = graph.broadcast %arg3 dims [0] {dist.global_type = tensor<8x16xf32>, dist.sharding = #dist.sharding<[{dp,mb:2},{}]>, graph.grad_role = "input_grad", graph.of = 7 : i64} : (tensor<2xf32>) -> tensor<2x16xf32>
    %3 = graph.mul %1, %2 {graph.grad_role = "input_grad", graph.of = 8 : i64} : tensor<2x16xf32>
    %4 = graph.mul %3, %arg7 {graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<2x16xf32>
    %5 = graph.mul %3, %arg7 {graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<2x16xf32>
    %6 = graph.add %4, %5 {graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<2x16xf32>
    %7 = graph.einsum "ac,bc->ab" %6, %arg2 {graph.grad_role = "input_grad", graph.of = 3 : i64} : (tensor<2x16xf32>, tensor<32x16xf32>) -> tensor<2x32xf32>
    %8 = graph.einsum "ac,ab->bc" %6, %arg6 {graph.grad_role = "weight_grad", graph.of = 3 : i64} : (tensor<2x16xf32>, tensor<2x32xf32>) -> tensor<32x16xf32>
    %9 = graph.mul %arg6, %arg6 {graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<2x32xf32>
    %10 = graph.constant {dist.global_type = tensor<8x64xf32>, dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>, graph.grad_role = "input_grad", graph.of = 2 : i64} dense<1.000000e+00> : tensor<2x32xf32>
    %11 = graph.sub %10, %9 {graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<2x32xf32>
    %12 = graph.mul %7, %11 {graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<2x32xf32>
    %13 = graph.einsum "ac,bc->ab" %12, %arg1 {graph.grad_role = "input_grad", graph.of = 1 : i64} : (tensor<2x32xf32>, tensor<16x32xf32>) -> tensor<2x16xf32>
    %14 = dist.all_reduce  sum %13 over  tp why "column-parallel product of params.l1.up: the gradient of its input is a partial sum; the addition after it needs it whole" {dist.parameters = ["params.l1.up"], dist.remedy = "tp=1"} : tensor<2x16xf32>
    %15 = graph.add %6, %14 {graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<2x16xf32>
    %16 = graph.einsum "ac,ab->bc" %12, %arg5 {graph.grad_role = "weight_grad", graph.of = 1 : i64} : (tensor<2x32xf32>, tensor<2x16xf32>) -> tensor<16x32xf32>
    graph.yield %15, %16, %8 : tensor<2x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>
  }
  graph.block @prologue(%arg0: tensor<4xf32> {dist.sharding = #dist.sharding<[{dp:4}]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<[]>}) attributes {graph.prologue} {
    %0 = graph.reduce  sum %arg0 dims [0] {graph.id = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
    %1 = dist.all_reduce  sum %0 over  dp why "a sum over the batch, which dp cuts; every microbatch needs it complete" {dist.remedy = "dp=1"} : tensor<f32>
    graph.yield %1 : tensor<f32>
  }
  pipe.stage @stage0 index 0 layers [0, 0] attributes {order = ["F0", "F1", "B0", "B1", "S", "U"], slots = array<i64: 2>} {
    pipe.buffer  parameter @params.l0.up : tensor<16x32xf32> of tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>, graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l0.up", graph.role = "param"}
    pipe.buffer  input @batch.x : tensor<4x16xf32> of tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp:4},{}]>, graph.batch_dim = 0 : i64, graph.name = "batch.x", graph.role = "input"}
    pipe.buffer  activation @layer0.1 : tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}
    pipe.buffer  gradient @grads.l0.up : tensor<16x32xf32> {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>, pipe.of = @params.l0.up}
    pipe.task  forward {
      %0 = pipe.read @params.l0.up : tensor<16x32xf32>
      %1 = pipe.read @batch.x : tensor<4x16xf32>
      %2 = dist.shard_slice %1 dim 0 over  mb : (tensor<4x16xf32>) -> tensor<2x16xf32>
      %3:2 = graph.call @layer.fwd(%0, %2) {graph.id = 1 : i64, layer = 0 : i64} : (tensor<16x32xf32>, tensor<2x16xf32>) -> (tensor<2x32xf32>, tensor<2x32xf32>)
      pipe.write %3#1 to @layer0.1 : tensor<2x32xf32>
      pipe.send %3#0 to 1 channel 0 : tensor<2x32xf32>
    }
    pipe.task  backward {
      %0 = pipe.recv from 1 channel 1 : tensor<2x32xf32>
      %1 = pipe.read @batch.x : tensor<4x16xf32>
      %2 = dist.shard_slice %1 dim 0 over  mb : (tensor<4x16xf32>) -> tensor<2x16xf32>
      %3 = pipe.read @layer0.1 : tensor<2x32xf32>
      %4 = graph.call @layer.bwd(%0, %2, %3) {graph.grad_role = "weight_grad", graph.of = 1 : i64, layer = 0 : i64} : (tensor<2x32xf32>, tensor<2x16xf32>, tensor<2x32xf32>) -> tensor<16x32xf32>
      pipe.accumulate %4 into @grads.l0.up : tensor<16x32xf32>
    }
    pipe.task  synchronize {
      pipe.synchronize [@grads.l0.up] over "dp" why "gradients are sums over the batch, which dp cuts"
    }
    pipe.task  update {
      pipe.update "adamw" @params.l0.up by @grads.l0.up {decay}
    }
  }
  pipe.stage @stage1 index 1 layers [1, 1] attributes {order = ["P", "F0", "B0", "F1", "B1", "S", "U"], slots = array<i64: 1>} {
    pipe.buffer  parameter @params.l0.down : tensor<32x16xf32> of tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>, graph.init = {kind = "normal", std = 1.250000e-01 : f64}, graph.name = "params.l0.down", graph.role = "param"}
    pipe.buffer  parameter @params.l1.up : tensor<16x32xf32> of tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>, graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l1.up", graph.role = "param"}
    pipe.buffer  parameter @params.l1.down : tensor<32x16xf32> of tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>, graph.init = {kind = "normal", std = 6.250000e-02 : f64}, graph.name = "params.l1.down", graph.role = "param"}
    pipe.buffer  input @batch.x : tensor<4x16xf32> of tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp:4},{}]>, graph.batch_dim = 0 : i64, graph.name = "batch.x", graph.role = "input"}
    pipe.buffer  input @batch.t : tensor<4x16xf32> of tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp:4},{}]>, graph.batch_dim = 0 : i64, graph.name = "batch.t", graph.role = "input"}
    pipe.buffer  input @batch.mask : tensor<4xf32> of tensor<8xf32> {dist.sharding = #dist.sharding<[{dp:4}]>, graph.batch_dim = 0 : i64, graph.name = "batch.mask", graph.role = "input"}
    pipe.buffer  complete @prologue.0 : tensor<f32>
    pipe.buffer  activation @last.1 : tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}
    pipe.buffer  activation @last.2 : tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}
    pipe.buffer  activation @last.3 : tensor<2x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}
    pipe.buffer  activation @layer0.0 : tensor<2x32xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}
    pipe.buffer  gradient @grads.l1.down : tensor<32x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>, pipe.of = @params.l1.down}
    pipe.buffer  gradient @grads.l1.up : tensor<16x32xf32> {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>, pipe.of = @params.l1.up}
    pipe.buffer  gradient @grads.l0.down : tensor<32x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>, pipe.of = @params.l0.down}
    pipe.buffer  result @loss : tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp,mb}>, graph.name = "loss"}
    pipe.task  prologue {
      %0 = pipe.read @batch.mask : tensor<4xf32>
      %1 = graph.call @prologue(%0) : (tensor<4xf32>) -> tensor<f32>
      pipe.write %1 to @prologue.0 : tensor<f32>
    }
    pipe.task  forward {
      %0 = pipe.recv from 0 channel 0 : tensor<2x32xf32>
      pipe.write %0 to @layer0.0 : tensor<2x32xf32>
      %1 = pipe.read @params.l0.down : tensor<32x16xf32>
      %2 = graph.call @layer_1.fwd(%0, %1) {graph.id = 2 : i64, layer = 1 : i64} : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
      %3 = pipe.read @params.l1.up : tensor<16x32xf32>
      %4 = pipe.read @params.l1.down : tensor<32x16xf32>
      %5 = pipe.read @batch.x : tensor<4x16xf32>
      %6 = dist.shard_slice %5 dim 0 over  mb : (tensor<4x16xf32>) -> tensor<2x16xf32>
      %7 = pipe.read @batch.t : tensor<4x16xf32>
      %8 = dist.shard_slice %7 dim 0 over  mb : (tensor<4x16xf32>) -> tensor<2x16xf32>
      %9 = pipe.read @batch.mask : tensor<4xf32>
      %10 = dist.shard_slice %9 dim 0 over  mb : (tensor<4xf32>) -> tensor<2xf32>
      %11 = pipe.read @prologue.0 : tensor<f32>
      %12:4 = graph.call @last.fwd(%2, %3, %4, %6, %8, %10, %11) {graph.id = 3 : i64} : (tensor<2x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2xf32>, tensor<f32>) -> (tensor<f32>, tensor<2x16xf32>, tensor<2x32xf32>, tensor<2x16xf32>)
      pipe.write %12#1 to @last.1 : tensor<2x16xf32>
      pipe.write %12#2 to @last.2 : tensor<2x32xf32>
      pipe.write %12#3 to @last.3 : tensor<2x16xf32>
      pipe.accumulate %12#0 into @loss : tensor<f32>
    }
    pipe.task  backward {
      %0 = graph.constant {graph.grad_role = "input_grad", graph.of = 3 : i64} dense<1.000000e+00> : tensor<f32>
      %1 = pipe.read @params.l1.up : tensor<16x32xf32>
      %2 = pipe.read @params.l1.down : tensor<32x16xf32>
      %3 = pipe.read @batch.mask : tensor<4xf32>
      %4 = dist.shard_slice %3 dim 0 over  mb : (tensor<4xf32>) -> tensor<2xf32>
      %5 = pipe.read @prologue.0 : tensor<f32>
      %6 = pipe.read @last.1 : tensor<2x16xf32>
      %7 = pipe.read @last.2 : tensor<2x32xf32>
      %8 = pipe.read @last.3 : tensor<2x16xf32>
      %9:3 = graph.call @last.bwd(%0, %1, %2, %4, %5, %6, %7, %8) {graph.grad_role = "input_grad", graph.of = 3 : i64} : (tensor<f32>, tensor<16x32xf32>, tensor<32x16xf32>, tensor<2xf32>, tensor<f32>, tensor<2x16xf32>, tensor<2x32xf32>, tensor<2x16xf32>) -> (tensor<2x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>)
      pipe.accumulate %9#2 into @grads.l1.down : tensor<32x16xf32>
      pipe.accumulate %9#1 into @grads.l1.up : tensor<16x32xf32>
      %10 = pipe.read @layer0.0 : tensor<2x32xf32>
      %11 = pipe.read @params.l0.down : tensor<32x16xf32>
      %12:2 = graph.call @layer_1.bwd(%9#0, %10, %11) {graph.grad_role = "input_grad", graph.of = 2 : i64, layer = 1 : i64} : (tensor<2x16xf32>, tensor<2x32xf32>, tensor<32x16xf32>) -> (tensor<2x32xf32>, tensor<32x16xf32>)
      pipe.accumulate %12#1 into @grads.l0.down : tensor<32x16xf32>
      pipe.send %12#0 to 0 channel 1 : tensor<2x32xf32>
    }
    pipe.task  synchronize {
      pipe.synchronize [@grads.l1.down, @grads.l1.up, @grads.l0.down] over "dp" why "gradients are sums over the batch, which dp cuts"
      pipe.synchronize [@loss] over "dp" why "the loss and the metrics are sums over the batch, which dp cuts"
    }
    pipe.task  update {
      pipe.update "adamw" @params.l0.down by @grads.l0.down {decay}
      pipe.update "adamw" @params.l1.down by @grads.l1.down {decay}
      pipe.update "adamw" @params.l1.up by @grads.l1.up {decay}
    }
  }
}

