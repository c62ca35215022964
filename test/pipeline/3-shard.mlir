// The model after the level shard. This page is what the compiler prints; update.sh makes it.
// RUN: p3dc %S/model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=shard > %t && grep -v '^//' %s | diff - %t
module attributes {dist.classes = [{axis = "tp", dims = {params.l0.down = array<i64: 0>, params.l0.up = array<i64: 1>}, units = 64 : i64}, {axis = "", dims = {batch.t = array<i64: 1>, batch.x = array<i64: 1>, "params.l*.down" = array<i64: 1>, "params.l*.up" = array<i64: 0>}, units = 16 : i64}, {axis = "tp", dims = {params.l1.down = array<i64: 0>, params.l1.up = array<i64: 1>}, units = 64 : i64}, {axis = "dp", dims = {batch.mask = array<i64: 0>, batch.t = array<i64: 0>, batch.x = array<i64: 0>}, units = 8 : i64}], dist.mesh = #dist.mesh<tp = 2, pp = 2, dp = 2, mb = 2>} {
  graph.block @layer.fwd(%arg0: tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>}, %arg1: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}) -> (tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}) attributes {graph.saves = 1 : i64} {
    %0 = graph.einsum "ab,bc->ac" %arg1, %arg0 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.id = 0 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %1 = graph.tanh %0 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.id = 1 : i64} : tensor<8x64xf32>
    graph.yield %1, %1 : tensor<8x64xf32>, tensor<8x64xf32>
  }
  graph.block @layer.bwd(%arg0: tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, %arg1: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg2: tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}) -> (tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>}) attributes {graph.backward_of = @layer.fwd} {
    %0 = graph.mul %arg2, %arg2 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<8x64xf32>
    %1 = graph.constant {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 1 : i64} dense<1.000000e+00> : tensor<8x64xf32>
    %2 = graph.sub %1, %0 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<8x64xf32>
    %3 = graph.mul %arg0, %2 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<8x64xf32>
    %4 = graph.einsum "ac,ab->bc" %3, %arg1 {dist.shardings = [#dist.sharding<[{},{tp:32}] unreduced{dp,mb}>], graph.grad_role = "weight_grad", graph.of = 0 : i64} : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<16x64xf32>
    graph.yield %4 : tensor<16x64xf32>
  }
  graph.block @layer_1.fwd(%arg0: tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, %arg1: tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>}) -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}) attributes {graph.saves = 0 : i64} {
    %0 = graph.einsum "ab,bc->ac" %arg0, %arg1 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}] unreduced{tp}>], graph.id = 0 : i64} : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %1 = dist.reshard %0 from <[{dp,mb:2},{}] unreduced{tp}> to <[{dp,mb:2},{}]> why "row-parallel product of params.l0.down leaves a partial sum; what follows the block needs it whole" {dist.parameters = ["params.l0.down"], dist.remedy = "tp=1", dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>]} : tensor<8x16xf32>
    graph.yield %1 : tensor<8x16xf32>
  }
  graph.block @layer_1.bwd(%arg0: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg1: tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, %arg2: tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>}) -> (tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>}) attributes {graph.backward_of = @layer_1.fwd} {
    %0 = graph.einsum "ac,bc->ab" %arg0, %arg2 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 0 : i64} : (tensor<8x16xf32>, tensor<64x16xf32>) -> tensor<8x64xf32>
    %1 = graph.einsum "ac,ab->bc" %arg0, %arg1 {dist.shardings = [#dist.sharding<[{tp:32},{}] unreduced{dp,mb}>], graph.grad_role = "weight_grad", graph.of = 0 : i64} : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<64x16xf32>
    graph.yield %0, %1 : tensor<8x64xf32>, tensor<64x16xf32>
  }
  graph.block @last.fwd(%arg0: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg1: tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>}, %arg2: tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>}, %arg3: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg4: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg5: tensor<8xf32> {dist.sharding = #dist.sharding<[{dp,mb:2}]>}, %arg6: tensor<f32> {dist.sharding = #dist.sharding<[]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp,mb}>}, tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}) attributes {graph.saves = 3 : i64} {
    %0 = graph.add %arg3, %arg0 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.id = 0 : i64} : tensor<8x16xf32>
    %1 = graph.einsum "ab,bc->ac" %0, %arg1 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.id = 1 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %2 = graph.tanh %1 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.id = 2 : i64} : tensor<8x64xf32>
    %3 = graph.einsum "ab,bc->ac" %2, %arg2 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}] unreduced{tp}>], graph.id = 3 : i64} : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %4 = dist.reshard %3 from <[{dp,mb:2},{}] unreduced{tp}> to <[{dp,mb:2},{}]> why "row-parallel product of params.l1.down leaves a partial sum; the addition after it needs it whole" {dist.parameters = ["params.l1.down"], dist.remedy = "tp=1", dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>]} : tensor<8x16xf32>
    %5 = graph.add %0, %4 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.id = 4 : i64} : tensor<8x16xf32>
    %6 = graph.sub %5, %arg4 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.id = 5 : i64} : tensor<8x16xf32>
    %7 = graph.mul %6, %6 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.id = 6 : i64} : tensor<8x16xf32>
    %8 = graph.broadcast %arg5 dims [0] {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.id = 7 : i64} : (tensor<8xf32>) -> tensor<8x16xf32>
    %9 = graph.mul %7, %8 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.id = 8 : i64} : tensor<8x16xf32>
    %10 = graph.reduce  sum %9 dims [0, 1] {dist.shardings = [#dist.sharding<[] unreduced{dp,mb}>], graph.id = 9 : i64} : (tensor<8x16xf32>) -> tensor<f32>
    %11 = graph.div %10, %arg6 {dist.shardings = [#dist.sharding<[] unreduced{dp,mb}>], graph.id = 10 : i64} : tensor<f32>
    graph.yield %11, %0, %2, %6 : tensor<f32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x16xf32>
  }
  graph.block @last.bwd(%arg0: tensor<f32> {dist.sharding = #dist.sharding<[]>}, %arg1: tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>}, %arg2: tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>}, %arg3: tensor<8xf32> {dist.sharding = #dist.sharding<[{dp,mb:2}]>}, %arg4: tensor<f32> {dist.sharding = #dist.sharding<[]>}, %arg5: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, %arg6: tensor<8x64xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{tp:32}]>}, %arg7: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}) -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp,mb:2},{}]>}, tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>}, tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>}) attributes {graph.backward_of = @last.fwd} {
    %0 = graph.div %arg0, %arg4 {dist.shardings = [#dist.sharding<[]>], graph.grad_role = "input_grad", graph.of = 10 : i64} : tensor<f32>
    %1 = graph.broadcast %0 dims [] {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.grad_role = "input_grad", graph.of = 9 : i64} : (tensor<f32>) -> tensor<8x16xf32>
    %2 = graph.broadcast %arg3 dims [0] {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.grad_role = "input_grad", graph.of = 7 : i64} : (tensor<8xf32>) -> tensor<8x16xf32>
    %3 = graph.mul %1, %2 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.grad_role = "input_grad", graph.of = 8 : i64} : tensor<8x16xf32>
    %4 = graph.mul %3, %arg7 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<8x16xf32>
    %5 = graph.mul %3, %arg7 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<8x16xf32>
    %6 = graph.add %4, %5 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<8x16xf32>
    %7 = graph.einsum "ac,bc->ab" %6, %arg2 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 3 : i64} : (tensor<8x16xf32>, tensor<64x16xf32>) -> tensor<8x64xf32>
    %8 = graph.einsum "ac,ab->bc" %6, %arg6 {dist.shardings = [#dist.sharding<[{tp:32},{}] unreduced{dp,mb}>], graph.grad_role = "weight_grad", graph.of = 3 : i64} : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<64x16xf32>
    %9 = graph.mul %arg6, %arg6 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<8x64xf32>
    %10 = graph.constant {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 2 : i64} dense<1.000000e+00> : tensor<8x64xf32>
    %11 = graph.sub %10, %9 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<8x64xf32>
    %12 = graph.mul %7, %11 {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>], graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<8x64xf32>
    %13 = graph.einsum "ac,bc->ab" %12, %arg1 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}] unreduced{tp}>], graph.grad_role = "input_grad", graph.of = 1 : i64} : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
    %14 = dist.reshard %13 from <[{dp,mb:2},{}] unreduced{tp}> to <[{dp,mb:2},{}]> why "column-parallel product of params.l1.up: the gradient of its input is a partial sum; the addition after it needs it whole" {dist.parameters = ["params.l1.up"], dist.remedy = "tp=1", dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>]} : tensor<8x16xf32>
    %15 = graph.add %6, %14 {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<8x16xf32>
    %16 = graph.einsum "ac,ab->bc" %12, %arg5 {dist.shardings = [#dist.sharding<[{},{tp:32}] unreduced{dp,mb}>], graph.grad_role = "weight_grad", graph.of = 1 : i64} : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<16x64xf32>
    graph.yield %15, %16, %8 : tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>
  }
  graph.block @prologue(%arg0: tensor<8xf32> {dist.sharding = #dist.sharding<[{dp:4}]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<[]>}) attributes {graph.prologue} {
    %0 = graph.reduce  sum %arg0 dims [0] {dist.shardings = [#dist.sharding<[] unreduced{dp}>], graph.id = 0 : i64} : (tensor<8xf32>) -> tensor<f32>
    %1 = dist.reshard %0 from <[] unreduced{dp}> to <[]> why "a sum over the batch, which dp cuts; every microbatch needs it complete" {dist.remedy = "dp=1", dist.shardings = [#dist.sharding<[]>]} : tensor<f32>
    graph.yield %1 : tensor<f32>
  }
  graph.program @loss(%arg0: tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>, graph.init = {kind = "normal", std = 1.250000e-01 : f64}, graph.name = "params.l0.down", graph.role = "param"}, %arg1: tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>, graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l0.up", graph.role = "param"}, %arg2: tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}]>, graph.init = {kind = "normal", std = 6.250000e-02 : f64}, graph.name = "params.l1.down", graph.role = "param"}, %arg3: tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}]>, graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l1.up", graph.role = "param"}, %arg4: tensor<8xf32> {dist.sharding = #dist.sharding<[{dp:4}]>, graph.batch_dim = 0 : i64, graph.name = "batch.mask", graph.role = "input"}, %arg5: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp:4},{}]>, graph.batch_dim = 0 : i64, graph.name = "batch.t", graph.role = "input"}, %arg6: tensor<8x16xf32> {dist.sharding = #dist.sharding<[{dp:4},{}]>, graph.batch_dim = 0 : i64, graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp,mb}>, graph.name = "loss"}, tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>, graph.name = "grads.l0.down"}, tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>, graph.name = "grads.l0.up"}, tensor<64x16xf32> {dist.sharding = #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>, graph.name = "grads.l1.down"}, tensor<16x64xf32> {dist.sharding = #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>, graph.name = "grads.l1.up"}) {
    %0 = dist.reshard %arg6 from <[{dp:4},{}]> to <[{dp,mb:2},{}]> why "one microbatch of an input" {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>]} : tensor<8x16xf32>
    %1 = dist.reshard %arg5 from <[{dp:4},{}]> to <[{dp,mb:2},{}]> why "one microbatch of an input" {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>]} : tensor<8x16xf32>
    %2 = dist.reshard %arg4 from <[{dp:4}]> to <[{dp,mb:2}]> why "one microbatch of an input" {dist.shardings = [#dist.sharding<[{dp,mb:2}]>]} : tensor<8xf32>
    %3 = graph.call @prologue(%arg4) {dist.shardings = [#dist.sharding<[]>]} : (tensor<8xf32>) -> tensor<f32>
    %4:2 = graph.call @layer.fwd(%arg1, %0) {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>, #dist.sharding<[{dp,mb:2},{tp:32}]>], graph.id = 1 : i64, layer = 0 : i64} : (tensor<16x64xf32>, tensor<8x16xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
    %5 = graph.call @layer_1.fwd(%4#0, %arg0) {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>], graph.id = 2 : i64, layer = 1 : i64} : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %6:4 = graph.call @last.fwd(%5, %arg3, %arg2, %0, %1, %2, %3) {dist.shardings = [#dist.sharding<[] unreduced{dp,mb}>, #dist.sharding<[{dp,mb:2},{}]>, #dist.sharding<[{dp,mb:2},{tp:32}]>, #dist.sharding<[{dp,mb:2},{}]>], graph.id = 3 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<f32>) -> (tensor<f32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x16xf32>)
    %7 = graph.constant {dist.shardings = [#dist.sharding<[]>], graph.grad_role = "input_grad", graph.of = 3 : i64} dense<1.000000e+00> : tensor<f32>
    %8:3 = graph.call @last.bwd(%7, %arg3, %arg2, %2, %3, %6#1, %6#2, %6#3) {dist.shardings = [#dist.sharding<[{dp,mb:2},{}]>, #dist.sharding<[{},{tp:32}] unreduced{dp,mb}>, #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>], graph.grad_role = "input_grad", graph.of = 3 : i64} : (tensor<f32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<8xf32>, tensor<f32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
    %9:2 = graph.call @layer_1.bwd(%8#0, %4#0, %arg0) {dist.shardings = [#dist.sharding<[{dp,mb:2},{tp:32}]>, #dist.sharding<[{tp:32},{}] unreduced{dp,mb}>], graph.grad_role = "input_grad", graph.of = 2 : i64, layer = 1 : i64} : (tensor<8x16xf32>, tensor<8x64xf32>, tensor<64x16xf32>) -> (tensor<8x64xf32>, tensor<64x16xf32>)
    %10 = graph.call @layer.bwd(%9#0, %0, %4#1) {dist.shardings = [#dist.sharding<[{},{tp:32}] unreduced{dp,mb}>], graph.grad_role = "weight_grad", graph.of = 1 : i64, layer = 0 : i64} : (tensor<8x64xf32>, tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    graph.update "adamw" %arg0, %9#1 {decay} : tensor<64x16xf32>, tensor<64x16xf32>
    graph.update "adamw" %arg1, %10 {decay} : tensor<16x64xf32>, tensor<16x64xf32>
    graph.update "adamw" %arg2, %8#2 {decay} : tensor<64x16xf32>, tensor<64x16xf32>
    graph.update "adamw" %arg3, %8#1 {decay} : tensor<16x64xf32>, tensor<16x64xf32>
    graph.yield %6#0, %9#1, %10, %8#2, %8#1 : tensor<f32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x64xf32>
  }
}

