// RUN: p3dc-opt %s -p3d-differentiate='optimizer=none recompute=full' | FileCheck %s --check-prefix=FULL
// RUN: p3dc-opt %s -p3d-differentiate='optimizer=sgd recompute=selective' | FileCheck %s --check-prefix=SELECTIVE
// RUN: not p3dc-opt %s -p3d-differentiate='recompute=some' 2>&1 | FileCheck %s --check-prefix=BAD-RECOMPUTE
// RUN: not p3dc-opt %s -p3d-differentiate='optimizer=lion' 2>&1 | FileCheck %s --check-prefix=BAD-OPTIMIZER

// BAD-RECOMPUTE: recompute is 'some', expected none, selective or full
// BAD-OPTIMIZER: optimizer is 'lion', expected adamw, sgd or none

// Full keeps nothing but arguments: the backward block computes the contraction again.
// FULL: graph.block @layer.fwd({{.*}}attributes {graph.saves = 0 : i64}
// FULL: graph.block @layer.bwd(
// FULL: graph.rms_norm
// FULL: graph.einsum "bd,df->bf"
// FULL: graph.silu_grad
// FULL: graph.program
// FULL-NOT: graph.update

// Selective keeps what a contraction made, and computes the norm again.
// SELECTIVE: graph.block @layer.fwd({{.*}}attributes {graph.saves = 1 : i64}
// SELECTIVE: graph.block @layer.bwd(
// SELECTIVE-NOT: graph.einsum "bd,df->bf"
// SELECTIVE: graph.rms_norm
// SELECTIVE: graph.rms_norm_grad
// SELECTIVE: graph.program
// A scale of rank 1 does not decay; a piece of rank 1 of a tensor of rank 2 does.
// SELECTIVE: graph.update "sgd" %{{.*}}, %{{.*}} :
// SELECTIVE: graph.update "sgd" %{{.*}}, %{{.*}} {decay} : tensor<16x64xf32>
// SELECTIVE: graph.update "sgd" %{{.*}}, %{{.*}} {decay} : tensor<64xf32>
graph.block @layer(%x: tensor<8x16xf32>, %scale: tensor<16xf32>, %w: tensor<16x64xf32>) -> tensor<8x64xf32> {
  %n, %rstd = graph.rms_norm %x, %scale {epsilon = 1.0e-5 : f64} : (tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
  %h = graph.einsum "bd,df->bf" %n, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.silu %h : tensor<8x64xf32>
  graph.yield %a : tensor<8x64xf32>
}

graph.program @loss(%x: tensor<8x16xf32> {graph.role = "input"},
                    %scale: tensor<16xf32> {graph.name = "params.scale", graph.role = "param"},
                    %w: tensor<16x64xf32> {graph.name = "params.w", graph.role = "param"},
                    %b: tensor<64xf32> {graph.name = "params.b", graph.role = "param", graph.global_shape = array<i64: 2, 64>,
                                        graph.piece_offset = array<i64: 1, 0>, graph.piece_shape = array<i64: 1, 64>}) -> tensor<f32> {
  %y = graph.call @layer(%x, %scale, %w) {layer = 0 : i64} : (tensor<8x16xf32>, tensor<16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %l = graph.einsum "bf,f->" %y, %b : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}
