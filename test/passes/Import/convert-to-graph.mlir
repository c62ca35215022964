// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-convert-to-graph | FileCheck %s

// Names come from locations, roles from the roots of the names; a product becomes an einsum.
// CHECK: graph.program @loss(%arg0: tensor<4x2xf32> {graph.name = "params.h0.w", graph.role = "param"},
// CHECK-SAME: %arg1: tensor<8x4xf32> {graph.name = "batch.x", graph.role = "input"},
// CHECK-SAME: %arg2: tensor<2xf32> {graph.name = "arg2"})
// CHECK-SAME: -> (tensor<8x2xf32> {graph.name = "loss"}, tensor<2xf32> {graph.name = "ce"})
// CHECK: graph.einsum "ab,bc->ac" %arg1, %arg0
func.func @main(%w: tensor<4x2xf32> loc("params['h0']['w']"), %x: tensor<8x4xf32> loc("batch['x']"), %b: tensor<2xf32> loc(unknown))
    -> (tensor<8x2xf32> {jax.result_info = "result[0]"}, tensor<2xf32> {jax.result_info = "result[1]['ce']"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0, %b : tensor<8x2xf32>, tensor<2xf32>
}

// -----

// take_along_axis: batch dimensions; the trivial dimension of the index vector goes.
// CHECK: graph.gather %{{.*}}, %{{.*}} {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<8x64xf32>, tensor<8x1xi32>) -> tensor<8x1xf32>
func.func @main(%x: tensor<8x64xf32>, %i: tensor<8x1x1xi32>) -> tensor<8x1xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x64xf32>, tensor<8x1x1xi32>) -> tensor<8x1xf32>
  return %0 : tensor<8x1xf32>
}

// -----

// x[iota, i]: the dimension that is indexed by its own position is a batch dimension.
// CHECK: graph.gather %{{.*}}, %{{.*}} {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<8x64xf32>, tensor<8xi32>) -> tensor<8xf32>
func.func @main(%x: tensor<8x64xf32>, %i: tensor<8x1xi32>) -> tensor<8xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x1xi32>
  %1 = stablehlo.concatenate %0, %i, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
  %2 = "stablehlo.gather"(%x, %1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x64xf32>, tensor<8x2xi32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// A running sum; windows that tile the input are patches.
// CHECK: graph.cumulative {{ *}}sum %{{.*}} {dim = 1 : i64} : tensor<8x16xf32>
// CHECK: graph.reshape %{{.*}} : (tensor<2x8x8x3xf32>) -> tensor<2x2x4x2x4x3xf32>
// CHECK: graph.einsum
func.func @main(%x: tensor<8x16xf32>, %image: tensor<2x8x8x3xf32>, %k: tensor<4x4x3x5xf32>) -> (tensor<8x16xf32>, tensor<2x2x2x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [15, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 16>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  %1 = stablehlo.convolution(%image, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<4x4x3x5xf32>) -> tensor<2x2x2x5xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<2x2x2x5xf32>
}

// -----

func.func @main(%image: tensor<2x8x8x3xf32>, %k: tensor<4x4x3x5xf32>) -> tensor<2x5x5x5xf32> {
  // expected-error @below {{has a stride other than its kernel's size; a convolution is taken only if its windows cut the input into patches}}
  %1 = stablehlo.convolution(%image, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<4x4x3x5xf32>) -> tensor<2x5x5x5xf32>
  return %1 : tensor<2x5x5x5xf32>
}

// -----

func.func @main(%x: tensor<8x4xf32>, %i: tensor<8x4xi32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @below {{reduces 2 tensors at once (an argmax or argmin); expected one, as sums, maxima and minima are}}
  %0:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [1] : (tensor<8x4xf32>, tensor<8x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
    %p = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
    %j = stablehlo.select %p, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %v, %j : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}

// -----

// A constraint stays with its value.
// CHECK: graph.constrain %{{.*}} : tensor<8xf32> as #sdy.sharding<mesh<["model"=2]>, [{"model"}]>
sdy.mesh @mesh = <["model"=2]>
func.func @constrained(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"model"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
