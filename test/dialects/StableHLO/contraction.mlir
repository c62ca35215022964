// The forms of products, convolutions and other operations of linear algebra.
// RUN: p3dc-opt %s | FileCheck %s
// RUN: p3dc-opt %s --mlir-print-op-generic | p3dc-opt | FileCheck %s

// CHECK-LABEL: func @dots
func.func @dots(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %v: tensor<4xf32>) {
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0] x [0] {note = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %1 = stablehlo.dot_general %v, %v, contracting_dims = [0] x [0] {note = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // An outer product contracts nothing.
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [] x [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.dot_general %v, %v, contracting_dims = [] x [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  // CHECK: contracting_dims = [0] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = true> : (
  %3 = stablehlo.dot_general %v, %v, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = true> : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // The attribute's fields come in any order and are left out when empty.
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0] x [0] : (
  %4 = "stablehlo.dot_general"(%v, %v) {dot_dimension_numbers = #stablehlo.dot<rhs_contracting_dimensions = [0], lhs_contracting_dimensions = [0]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [] x [] : (
  %5 = "stablehlo.dot_general"(%v, %v) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.dot %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %6 = stablehlo.dot %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // CHECK: stablehlo.dot %{{.*}}, %{{.*}}, precision = [HIGH, HIGH] : (
  %7 = stablehlo.dot %v, %v, precision = [HIGH, HIGH] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func @convolutions
func.func @convolutions(%x: tensor<1x8x8x3xf32>, %k: tensor<2x2x3x16xf32>) {
  // CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = {{\[\[}}0, 1], [-1, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [-1, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x3xf32>, tensor<2x2x3x16xf32>) -> tensor<1x4x4x16xf32>
  // CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<2x2x3x16xf32>) -> tensor<1x7x7x16xf32>
  return
}

// CHECK-LABEL: func @others
func.func @others(%a: tensor<4x4xf32>, %z: tensor<8xcomplex<f32>>) {
  // CHECK: stablehlo.einsum %{{.*}}, %{{.*}}, config = "ab,bc->ac" : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = stablehlo.einsum %a, %a, config = "ab,bc->ac" : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.unary_einsum %{{.*}}, config = "ab->a" : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<4x4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.fft %{{.*}}, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  %2 = stablehlo.fft %z, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  // CHECK: stablehlo.cholesky %{{.*}} : tensor<4x4xf32>
  %3 = stablehlo.cholesky %a : tensor<4x4xf32>
  // CHECK: stablehlo.cholesky %{{.*}}, lower = true : tensor<4x4xf32>
  %4 = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
  // CHECK: "stablehlo.triangular_solve"(%{{.*}}, %{{.*}}) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (
  %5 = "stablehlo.triangular_solve"(%a, %a) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
