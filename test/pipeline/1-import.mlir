// The model after the level import. This page is what the compiler prints; update.sh makes it.
// RUN: p3dc %S/model.stablehlo --mesh=2x2x2 --microbatches=2 --emit=import > %t && grep -v '^//' %s | diff - %t
module {
  graph.block @layer(%arg0: tensor<16x64xf32>, %arg1: tensor<8x16xf32>) -> tensor<8x64xf32> {
    %0 = graph.einsum "ab,bc->ac" %arg1, %arg0 : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %1 = graph.tanh %0 : tensor<8x64xf32>
    graph.yield %1 : tensor<8x64xf32>
  }
  graph.block @layer_1(%arg0: tensor<8x64xf32>, %arg1: tensor<64x16xf32>) -> tensor<8x16xf32> {
    %0 = graph.einsum "ab,bc->ac" %arg0, %arg1 : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    graph.yield %0 : tensor<8x16xf32>
  }
  graph.block @last(%arg0: tensor<8x16xf32>, %arg1: tensor<16x64xf32>, %arg2: tensor<64x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8xf32>, %arg6: tensor<f32>) -> tensor<f32> {
    %0 = graph.add %arg3, %arg0 : tensor<8x16xf32>
    %1 = graph.einsum "ab,bc->ac" %0, %arg1 : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %2 = graph.tanh %1 : tensor<8x64xf32>
    %3 = graph.einsum "ab,bc->ac" %2, %arg2 : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %4 = graph.add %0, %3 : tensor<8x16xf32>
    %5 = graph.sub %4, %arg4 : tensor<8x16xf32>
    %6 = graph.mul %5, %5 : tensor<8x16xf32>
    %7 = graph.broadcast %arg5 dims [0] : (tensor<8xf32>) -> tensor<8x16xf32>
    %8 = graph.mul %6, %7 : tensor<8x16xf32>
    %9 = graph.reduce  sum %8 dims [0, 1] : (tensor<8x16xf32>) -> tensor<f32>
    %10 = graph.div %9, %arg6 : tensor<f32>
    graph.yield %10 : tensor<f32>
  }
  graph.program @loss(%arg0: tensor<64x16xf32> {graph.init = {kind = "normal", std = 1.250000e-01 : f64}, graph.name = "params.l0.down", graph.role = "param"}, %arg1: tensor<16x64xf32> {graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l0.up", graph.role = "param"}, %arg2: tensor<64x16xf32> {graph.init = {kind = "normal", std = 6.250000e-02 : f64}, graph.name = "params.l1.down", graph.role = "param"}, %arg3: tensor<16x64xf32> {graph.init = {kind = "normal", std = 2.500000e-01 : f64}, graph.name = "params.l1.up", graph.role = "param"}, %arg4: tensor<8xf32> {graph.name = "batch.mask", graph.role = "input"}, %arg5: tensor<8x16xf32> {graph.name = "batch.t", graph.role = "input"}, %arg6: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %0 = graph.reduce  sum %arg4 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %1 = graph.call @layer(%arg1, %arg6) {layer = 0 : i64} : (tensor<16x64xf32>, tensor<8x16xf32>) -> tensor<8x64xf32>
    %2 = graph.call @layer_1(%1, %arg0) {layer = 1 : i64} : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %3 = graph.call @last(%2, %arg3, %arg2, %arg6, %arg5, %arg4, %0) : (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<f32>) -> tensor<f32>
    graph.yield %3 : tensor<f32>
  }
}

