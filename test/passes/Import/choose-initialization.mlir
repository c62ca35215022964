// Parameters start by their use.
// RUN: p3dc-opt %s -split-input-file -p3d-choose-initialization | FileCheck %s

// The documented example: 1 / sqrt(16).
// CHECK: %{{.*}}: tensor<16x4xf32> {graph.init = {kind = "normal", std = 2.500000e-01 : f64}
graph.program @loss(%w: tensor<16x4xf32> {graph.role = "param"}, %x: tensor<8x16xf32> {graph.role = "input"}) -> tensor<8x4xf32> {
  %h = graph.einsum "bd,df->bf" %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  graph.yield %h : tensor<8x4xf32>
}

// -----

// Two layers: what ends a branch is divided by sqrt(2 x 2), behind a bias too; what begins it is not. The stream may come in another type.
graph.block @layer(%x: tensor<8x16xbf16>, %scale: tensor<16xf32>, %up: tensor<16x64xf32>, %down: tensor<64x16xf32>, %bias: tensor<16xf32>) -> tensor<8x16xbf16> {
  %x32 = graph.convert %x : (tensor<8x16xbf16>) -> tensor<8x16xf32>
  %n, %rstd = graph.rms_norm %x32, %scale {epsilon = 1.0e-5 : f64} : (tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
  %h = graph.einsum "bd,df->bf" %n, %up : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.tanh %h : tensor<8x64xf32>
  %o = graph.einsum "bf,fd->bd" %a, %down : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %b = graph.broadcast %bias dims [1] : (tensor<16xf32>) -> tensor<8x16xf32>
  %ob = graph.add %o, %b : tensor<8x16xf32>
  %y = graph.add %x32, %ob : tensor<8x16xf32>
  %z = graph.convert %y : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  graph.yield %z : tensor<8x16xbf16>
}
// CHECK: graph.program @residual(
// CHECK-SAME: tensor<32x16xbf16> {graph.init = {kind = "normal", std = 2.000000e-02 : f64}
// CHECK-SAME: tensor<16xf32> {graph.init = {kind = "ones"
// CHECK-SAME: tensor<16x64xf32> {graph.init = {kind = "normal", std = 2.500000e-01 : f64}
// CHECK-SAME: tensor<64x16xf32> {graph.init = {kind = "normal", std = 6.250000e-02 : f64}
// CHECK-SAME: tensor<16xf32> {graph.init = {kind = "zeros"
graph.program @residual(%table: tensor<32x16xbf16> {graph.role = "param"}, %scale: tensor<16xf32> {graph.role = "param"}, %up: tensor<16x64xf32> {graph.role = "param"},
                        %down: tensor<64x16xf32> {graph.role = "param"}, %bias: tensor<16xf32> {graph.role = "param"}, %ids: tensor<8xi32> {graph.role = "input"}) -> tensor<8x16xbf16> {
  %x = graph.embedding %table, %ids : (tensor<32x16xbf16>, tensor<8xi32>) -> tensor<8x16xbf16>
  %0 = graph.call @layer(%x, %scale, %up, %down, %bias) {layer = 0 : i64} : (tensor<8x16xbf16>, tensor<16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16xf32>) -> tensor<8x16xbf16>
  %1 = graph.call @layer(%0, %scale, %up, %down, %bias) {layer = 1 : i64} : (tensor<8x16xbf16>, tensor<16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16xf32>) -> tensor<8x16xbf16>
  graph.yield %1 : tensor<8x16xbf16>
}
