// What the translation of single operations does not take, and what it says of what it takes.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-convert-to-graph

// expected-error @below {{has 0 functions; expected one, with its calls inlined}}
module {
}

// -----

// An operation without a row in the table.
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'stablehlo.cholesky' op has no translation to the graph dialect}}
  %0 = stablehlo.cholesky %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// Elements.
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf16>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.add' op has operands of types 'tensor<4xf32>' and 'tensor<4xf16>' and a result of type 'tensor<4xf32>'; expected one type: convert the operands first}}
  %0 = stablehlo.add %x, %y : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Elements.
func.func @main(%x: tensor<4xf32>) -> tensor<4xi1> {
  // expected-error @below {{'stablehlo.compare' op compares floats by their total order; compare with the type FLOAT}}
  %0 = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// Elements.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.reduce_precision' op rounds to a float of 4 exponent and 3 mantissa bits; expected bf16, f16, f32 or f64}}
  %0 = stablehlo.reduce_precision %x, format = e4m3 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Elements.
func.func @main(%x: tensor<4xi32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.bitcast_convert' op reads the bits of 'tensor<4xi32>' as 'tensor<4xf32>'; only the floats in [1, 2) that random generators make of 32-bit words are taken}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Products.
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{'stablehlo.dot_general' op has dimension numbers that do not fit its operands}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Products.
func.func @main(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  // expected-error @below {{'stablehlo.dot' op has a scalar operand; expected vectors or matrices}}
  %0 = stablehlo.dot %x, %y : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Products.
func.func @main(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32> {
  // expected-error @below {{'stablehlo.dot_general' op has operands of 14 and 14 dimensions; an einsum has letters for 26}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [] x [] : (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>, tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
  return %0 : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
}

// -----

// Convolutions.
func.func @main(%x: tensor<2x8x8x3xf32>, %k: tensor<4x4x3x5xf32>) -> tensor<2x2x2x5xf32> {
  // expected-error @below {{'stablehlo.convolution' op has padding; a convolution is taken only if its windows cut the input into patches (stride = kernel size, no padding, dilation, reversal or groups)}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4], pad = [[1, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<4x4x3x5xf32>) -> tensor<2x2x2x5xf32>
  return %0 : tensor<2x2x2x5xf32>
}

// -----

// Convolutions.
func.func @main(%x: tensor<2x8x8x3xf32>, %k: tensor<4x4x3x5xf32>) -> tensor<2x2x2x5xf32> {
  // expected-error @below {{'stablehlo.convolution' op has dilation; a convolution is taken only if its windows cut the input into patches (stride = kernel size, no padding, dilation, reversal or groups)}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<4x4x3x5xf32>) -> tensor<2x2x2x5xf32>
  return %0 : tensor<2x2x2x5xf32>
}

// -----

// Convolutions.
func.func @main(%x: tensor<2x8x8x3xf32>, %k: tensor<4x4x3x5xf32>) -> tensor<2x2x2x5xf32> {
  // expected-error @below {{'stablehlo.convolution' op has reversed windows; a convolution is taken only if its windows cut the input into patches (stride = kernel size, no padding, dilation, reversal or groups)}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<4x4x3x5xf32>) -> tensor<2x2x2x5xf32>
  return %0 : tensor<2x2x2x5xf32>
}

// -----

// Convolutions.
func.func @main(%x: tensor<2x8x8x3xf32>, %k: tensor<4x4x1x6xf32>) -> tensor<2x2x2x6xf32> {
  // expected-error @below {{'stablehlo.convolution' op has groups; a convolution is taken only if}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x8x8x3xf32>, tensor<4x4x1x6xf32>) -> tensor<2x2x2x6xf32>
  return %0 : tensor<2x2x2x6xf32>
}

// -----

// Indices.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x2x4xf32> {
  // expected-error @below {{'stablehlo.gather' op takes windows of 2 of dimension 0 of size 8; expected single elements or the whole dimension}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 4>}> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x2x4xf32>
  return %0 : tensor<3x2x4xf32>
}

// -----

// Indices.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x2xf32> {
  // expected-error @below {{'stablehlo.gather' op takes 2 of the 4 elements of dimension 1, which no index selects; expected all of them}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// Indices.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{'stablehlo.scatter' op scatters into 2 tensors at once; expected one}}
  %0:2 = "stablehlo.scatter"(%x, %x, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    stablehlo.return %a, %b : tensor<f32>, tensor<f32>
  }) : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  return %0#0 : tensor<8x4xf32>
}

// -----

// Indices.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{'stablehlo.scatter' op combines by something else than an add or the update; write x.at[i].add(y) or x.at[i].set(y)}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Indices.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
  // expected-remark @below {{the rows that are written are taken to be different from each other}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Indices.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<0xi32>, %u: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{'stablehlo.scatter' op has no index that selects; use the whole tensor instead}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<0xi32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Indices.
func.func @main(%x: tensor<8xf32>, %u: tensor<2xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  // expected-error @below {{'stablehlo.dynamic_update_slice' op writes at an index of dimension 0 that is known at run time only; expected a constant or a loop counter}}
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Reductions.
func.func @main(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'stablehlo.reduce' op combines elements by something else than one add, maximum, minimum, multiply, and, or; write it by these}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.power %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Reductions.
func.func @main(%x: tensor<8xf32>) -> tensor<7xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  // expected-error @below {{'stablehlo.reduce_window' op is no running sum, maximum, minimum or product along one dimension, the only windows that are taken}}
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// Reductions.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'stablehlo.sort' op orders by something else than LT or GT of its first operand; sort by one key}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.compare LE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Custom calls.
func.func @main(%x: tensor<8xf32>) -> tensor<2xf32> {
  // expected-error @below {{'stablehlo.custom_call' op lacks 'k' in its attribute mhlo.attributes, or has other than one operand and two results}}
  %0:2 = stablehlo.custom_call @mhlo.topk(%x) : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0 : tensor<2xf32>
}

// -----

// Custom calls.
func.func @main(%x: tensor<8xf32>) -> tensor<2xf32> {
  // expected-error @below {{'stablehlo.custom_call' op takes the smallest elements; expected the largest}}
  %0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = false}} : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0 : tensor<2xf32>
}

// -----

// Custom calls.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'stablehlo.custom_call' op calls 'tpu_custom_call', whose meaning is not known here; export it as plain operations}}
  %0 = stablehlo.custom_call @tpu_custom_call(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Custom calls.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'stablehlo.custom_call' op calls 'Sharding', an identity, with 2 operands and 1 results; expected as many results as operands}}
  %0 = stablehlo.custom_call @Sharding(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Numbers of dimensions that are not there.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x4xf32> {
  // expected-error @below {{'stablehlo.gather' op has dimension numbers that do not fit its operands}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Fewer windows of the updates than the operand has dimensions for.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{'stablehlo.scatter' op has dimension numbers that do not fit its operands}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
