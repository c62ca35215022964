// The model after the level autodiff. This page is what the compiler prints; update.sh makes it.
// RUN: p3dc %S/model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=autodiff > %t && grep -v '^//' %s | diff - %t
module {
  graph.block @layer.fwd(%arg0: tensor<16x64xf32>, %arg1: tensor<8x16xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) attributes {graph.saves = 1 : i64} {
    %0 = graph.einsum "ab,bc->ac" %arg1, %arg0 {graph.id = 0 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %1 = graph.tanh %0 {graph.id = 1 : i64} : tensor<8x64xf32>
    graph.yield %1, %1 : tensor<8x64xf32>, tensor<8x64xf32>
  }
  graph.block @layer.bwd(%arg0: tensor<8x64xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<8x64xf32>) -> tensor<16x64xf32> attributes {graph.backward_of = @layer.fwd} {
    %0 = graph.mul %arg2, %arg2 {graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<8x64xf32>
    %1 = graph.constant {graph.grad_role = "input_grad", graph.of = 1 : i64} dense<1.000000e+00> : tensor<8x64xf32>
    %2 = graph.sub %1, %0 {graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<8x64xf32>
    %3 = graph.mul %arg0, %2 {graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<8x64xf32>
    %4 = graph.einsum "ac,ab->bc" %3, %arg1 {graph.grad_role = "weight_grad", graph.of = 0 : i64} : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<16x64xf32>
    graph.yield %4 : tensor<16x64xf32>
  }
  graph.block @layer_1.fwd(%arg0: tensor<8x64xf32>, %arg1: tensor<64x16xf32>) -> tensor<8x16xf32> attributes {graph.saves = 0 : i64} {
    %0 = graph.einsum "ab,bc->ac" %arg0, %arg1 {graph.id = 0 : i64} : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    graph.yield %0 : tensor<8x16xf32>
  }
  graph.block @layer_1.bwd(%arg0: tensor<8x16xf32>, %arg1: tensor<8x64xf32>, %arg2: tensor<64x16xf32>) -> (tensor<8x64xf32>, tensor<64x16xf32>) attributes {graph.backward_of = @layer_1.fwd} {
    %0 = graph.einsum "ac,bc->ab" %arg0, %arg2 {graph.grad_role = "input_grad", graph.of = 0 : i64} : (tensor<8x16xf32>, tensor<64x16xf32>) -> tensor<8x64xf32>
    %1 = graph.einsum "ac,ab->bc" %arg0, %arg1 {graph.grad_role = "weight_grad", graph.of = 0 : i64} : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<64x16xf32>
    graph.yield %0, %1 : tensor<8x64xf32>, tensor<64x16xf32>
  }
  graph.block @last.fwd(%arg0: tensor<8x16xf32>, %arg1: tensor<16x64xf32>, %arg2: tensor<64x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8xf32>, %arg6: tensor<f32>) -> (tensor<f32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x16xf32>) attributes {graph.saves = 3 : i64} {
    %0 = graph.add %arg3, %arg0 {graph.id = 0 : i64} : tensor<8x16xf32>
    %1 = graph.einsum "ab,bc->ac" %0, %arg1 {graph.id = 1 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %2 = graph.tanh %1 {graph.id = 2 : i64} : tensor<8x64xf32>
    %3 = graph.einsum "ab,bc->ac" %2, %arg2 {graph.id = 3 : i64} : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %4 = graph.add %0, %3 {graph.id = 4 : i64} : tensor<8x16xf32>
    %5 = graph.sub %4, %arg4 {graph.id = 5 : i64} : tensor<8x16xf32>
    %6 = graph.mul %5, %5 {graph.id = 6 : i64} : tensor<8x16xf32>
    %7 = graph.broadcast %arg5 dims [0] {graph.id = 7 : i64} : (tensor<8xf32>) -> tensor<8x16xf32>
    %8 = graph.mul %6, %7 {graph.id = 8 : i64} : tensor<8x16xf32>
    %9 = graph.reduce  sum %8 dims [0, 1] {graph.id = 9 : i64} : (tensor<8x16xf32>) -> tensor<f32>
    %10 = graph.div %9, %arg6 {graph.id = 10 : i64} : tensor<f32>
    graph.yield %10, %0, %2, %5 : tensor<f32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x16xf32>
  }
  graph.block @last.bwd(%arg0: tensor<f32>, %arg1: tensor<16x64xf32>, %arg2: tensor<64x16xf32>, %arg3: tensor<8xf32>, %arg4: tensor<f32>, %arg5: tensor<8x16xf32>, %arg6: tensor<8x64xf32>, %arg7: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) attributes {graph.backward_of = @last.fwd} {
    %0 = graph.div %arg0, %arg4 {graph.grad_role = "input_grad", graph.of = 10 : i64} : tensor<f32>
    %1 = graph.broadcast %0 dims [] {graph.grad_role = "input_grad", graph.of = 9 : i64} : (tensor<f32>) -> tensor<8x16xf32>
    %2 = graph.broadcast %arg3 dims [0] {graph.grad_role = "input_grad", graph.of = 7 : i64} : (tensor<8xf32>) -> tensor<8x16xf32>
    %3 = graph.mul %1, %2 {graph.grad_role = "input_grad", graph.of = 8 : i64} : tensor<8x16xf32>
    %4 = graph.mul %3, %arg7 {graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<8x16xf32>
    %5 = graph.mul %3, %arg7 {graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<8x16xf32>
    %6 = graph.add %4, %5 {graph.grad_role = "input_grad", graph.of = 6 : i64} : tensor<8x16xf32>
    %7 = graph.einsum "ac,bc->ab" %6, %arg2 {graph.grad_role = "input_grad", graph.of = 3 : i64} : (tensor<8x16xf32>, tensor<64x16xf32>) -> tensor<8x64xf32>
    %8 = graph.einsum "ac,ab->bc" %6, %arg6 {graph.grad_role = "weight_grad", graph.of = 3 : i64} : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<64x16xf32>
    %9 = graph.mul %arg6, %arg6 {graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<8x64xf32>
    %10 = graph.constant {graph.grad_role = "input_grad", graph.of = 2 : i64} dense<1.000000e+00> : tensor<8x64xf32>
    %11 = graph.sub %10, %9 {graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<8x64xf32>
    %12 = graph.mul %7, %11 {graph.grad_role = "input_grad", graph.of = 2 : i64} : tensor<8x64xf32>
    %13 = graph.einsum "ac,bc->ab" %12, %arg1 {graph.grad_role = "input_grad", graph.of = 1 : i64} : (tensor<8x64xf32>, tensor<16x64xf32>) -> tensor<8x16xf32>
    %14 = graph.add %6, %13 {graph.grad_role = "input_grad", graph.of = 1 : i64} : tensor<8x16xf32>
    %15 = graph.einsum "ac,ab->bc" %12, %arg5 {graph.grad_role = "weight_grad", graph.of = 1 : i64} : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<16x64xf32>
    graph.yield %14, %15, %8 : tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>
  }
  graph.program @loss(%arg0: tensor<64x16xf32> {graph.init = {kind = "normal", std = 1.250000e-01 : f64}, graph.name = "params.l0.down", graph.role = "param"}, %arg1: tensor<16x64xf32> {graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l0.up", graph.role = "param"}, %arg2: tensor<64x16xf32> {graph.init = {kind = "normal", std = 6.250000e-02 : f64}, graph.name = "params.l1.down", graph.role = "param"}, %arg3: tensor<16x64xf32> {graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l1.up", graph.role = "param"}, %arg4: tensor<8xf32> {graph.name = "batch.mask", graph.role = "input"}, %arg5: tensor<8x16xf32> {graph.name = "batch.t", graph.role = "input"}, %arg6: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}, tensor<64x16xf32> {graph.name = "grads.l0.down"}, tensor<16x64xf32> {graph.name = "grads.l0.up"}, tensor<64x16xf32> {graph.name = "grads.l1.down"}, tensor<16x64xf32> {graph.name = "grads.l1.up"}) {
    %0 = graph.reduce  sum %arg4 dims [0] {graph.id = 0 : i64} : (tensor<8xf32>) -> tensor<f32>
    %1:2 = graph.call @layer.fwd(%arg1, %arg6) {graph.id = 1 : i64, layer = 0 : i64} : (tensor<16x64xf32>, tensor<8x16xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
    %2 = graph.call @layer_1.fwd(%1#0, %arg0) {graph.id = 2 : i64, layer = 1 : i64} : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %3:4 = graph.call @last.fwd(%2, %arg3, %arg2, %arg6, %arg5, %arg4, %0) {graph.id = 3 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<f32>) -> (tensor<f32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x16xf32>)
    %4 = graph.constant {graph.grad_role = "input_grad", graph.of = 3 : i64} dense<1.000000e+00> : tensor<f32>
    %5:3 = graph.call @last.bwd(%4, %arg3, %arg2, %arg4, %0, %3#1, %3#2, %3#3) {graph.grad_role = "input_grad", graph.of = 3 : i64} : (tensor<f32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<8xf32>, tensor<f32>, tensor<8x16xf32>, tensor<8x64xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
    %6:2 = graph.call @layer_1.bwd(%5#0, %1#0, %arg0) {graph.grad_role = "input_grad", graph.of = 2 : i64, layer = 1 : i64} : (tensor<8x16xf32>, tensor<8x64xf32>, tensor<64x16xf32>) -> (tensor<8x64xf32>, tensor<64x16xf32>)
    %7 = graph.call @layer.bwd(%6#0, %arg6, %1#1) {graph.grad_role = "weight_grad", graph.of = 1 : i64, layer = 0 : i64} : (tensor<8x64xf32>, tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
    graph.update "adamw" %arg0, %6#1 {decay} : tensor<64x16xf32>, tensor<64x16xf32>
    graph.update "adamw" %arg1, %7 {decay} : tensor<16x64xf32>, tensor<16x64xf32>
    graph.update "adamw" %arg2, %5#2 {decay} : tensor<64x16xf32>, tensor<64x16xf32>
    graph.update "adamw" %arg3, %5#1 {decay} : tensor<16x64xf32>, tensor<16x64xf32>
    graph.yield %3#0, %6#1, %7, %5#2, %5#1 : tensor<f32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x64xf32>
  }
}

