// Malformed text is refused where it stands.
// RUN: p3dc-opt %s --split-input-file --verify-diagnostics

func.func @slice_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'stablehlo.slice' op expects a start, a limit and a stride for each of 2 dimensions, found 1, 1 and 1}}
  %0 = stablehlo.slice %x [0:2] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @reduce_counts(%x: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects as many initial values as inputs and at least one, found 1 operands}}
  %0 = "stablehlo.reduce"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_region(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects a region of 2 arguments, found 1}}
  %0 = "stablehlo.reduce"(%x, %s) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_name(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected one input and a commutative binary operation of this dialect, found 'stablehlo.subtract'; write the reduction as a region}}
  %0 = stablehlo.reduce(%x init: %s) applies stablehlo.subtract across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_types(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected 2 operand types, found 1}}
  %0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @scatter_counts(%x: tensor<4xf32>, %i: tensor<1xi32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects inputs, indices, and as many updates as inputs, found 2 operands}}
  %0 = "stablehlo.scatter"(%x, %i) <{scatter_dimension_numbers = #stablehlo.scatter<>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_types(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.while' op expects condition arguments of the types of its operands ('tensor<f32>'), found ('tensor<i32>')}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<i32>):
    stablehlo.return %a : tensor<i32>
  }, {
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @function_type(%x: tensor<f32>) {
  // expected-error @+1 {{expected a function of 2 operands and one result, found '(tensor<f32>) -> tensor<f32>'}}
  %0 = stablehlo.add %x, %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @complex(%x: tensor<f32>) {
  // expected-error @+1 {{expected a tensor of complex elements, found 'tensor<f32>'}}
  %0 = stablehlo.complex %x, %x : tensor<f32>
  return
}

// -----

func.func @tuple(%x: tensor<f32>) {
  // expected-error @+1 {{expected a tuple type, found 'tensor<f32>'}}
  %0 = stablehlo.tuple %x : tensor<f32>
  return
}

// -----

func.func @barrier(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.optimization_barrier' op expects results of the types of its operands}}
  %0 = "stablehlo.optimization_barrier"(%x) : (tensor<f32>) -> tensor<i32>
  return
}

// -----

func.func @precision(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected precision DEFAULT, HIGH or HIGHEST, found 'LOW'}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0], precision = [LOW, LOW] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @format(%x: tensor<f32>) {
  // expected-error @+1 {{expected a format like e8m7, found 'm7e8'}}
  %0 = stablehlo.reduce_precision %x, format = m7e8 : tensor<f32>
  return
}

// -----

func.func @window(%x: tensor<1x8x8x3xf32>, %k: tensor<2x2x3x16xf32>) {
  // expected-error @+1 {{unknown or repeated window item 'strides'}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {strides = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<2x2x3x16xf32>) -> tensor<1x4x4x16xf32>
  return
}

// -----

func.func @spatial(%x: tensor<1x8x8x3xf32>, %k: tensor<2x2x3x16xf32>) {
  // expected-error @+1 {{expected dimensions 'b', 'f' and every spatial dimension from 0 on}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 2, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<2x2x3x16xf32>) -> tensor<1x4x4x16xf32>
  return
}

// -----

func.func @padding(%x: tensor<1x8x8x3xf32>, %k: tensor<2x2x3x16xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects padding of shape Nx2, found 'tensor<4xi64>'}}
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, padding = dense<0> : tensor<4xi64>}> : (tensor<1x8x8x3xf32>, tensor<2x2x3x16xf32>) -> tensor<1x7x7x16xf32>
  return
}

// -----

func.func @attribute(%x: tensor<f32>) {
  // expected-error @+1 {{unknown attribute 'of_tomorrow' of dialect 'stablehlo'}}
  %0 = stablehlo.abs %x {note = #stablehlo.of_tomorrow<1>} : tensor<f32>
  return
}

// -----

// expected-error @+1 {{expected a positive size of mesh axis "x", found 0}}
sdy.mesh @mesh = <["x"=0]>

// -----

// expected-error @+1 {{expected a priority like p0 or the next dimension}}
func.func @priority(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}q1]>}) {
  return
}

// -----

// expected-error @+1 {{expected '}' after '?'}}
func.func @open(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?, "x"}]>}) {
  return
}

// -----

// expected-error @+1 {{expected 'replicated' or 'unreduced', each once, found 'partial'}}
func.func @axes(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], partial={"x"}>}) {
  return
}

// -----

func.func @shardings(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op expects a sharding and a region argument for each of 1 operands, found 0 and 1}}
  %0 = sdy.manual_computation(%x) in_shardings=[] out_shardings=[<@mesh, [{}]>] manual_axes={} (%a: tensor<4xf32>) {
    sdy.return %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @manual_results(%x: tensor<4xf32>) {
  // expected-error @+1 {{'sdy.manual_computation' op expects a sharding for each of 1 results, found 0}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}]>] out_shardings=[] manual_axes={} (%a: tensor<4xf32>) {
    sdy.return %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{expected positive sizes of sub-axis, found (1)0}}
func.func @sub_axis(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)0}]>}) {
  return
}

// -----

func.func @sharding_rule(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected '<' and a sharding rule}}
  %0 = stablehlo.abs %x {sdy.sharding_rule = #sdy.op_sharding_rule} : tensor<4xf32>
  return
}

// -----

func.func @unknown_sharding(%x: tensor<4xf32>) {
  // expected-error @+1 {{unknown attribute 'of_tomorrow' of dialect 'sdy'}}
  %0 = stablehlo.abs %x {note = #sdy.of_tomorrow<1>} : tensor<4xf32>
  return
}

// -----

// expected-error @+2 {{expected a bound or '?'}}
// expected-error @+1 {{failed to parse StableHLO_Bounds parameter 'bounds'}}
func.func @bounds(%x: tensor<?xf32, #stablehlo.bounds<4, x>>) {
  return
}

// -----

func.func @spatial_range(%x: tensor<1x8x8x3xf32>, %k: tensor<2x2x3x16xf32>) {
  // expected-error @+1 {{spatial dimension 64 is out of range; expected at least 0 and below 64}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 64, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<2x2x3x16xf32>) -> tensor<1x4x4x16xf32>
  return
}

// -----

func.func @spatial_twice(%x: tensor<1x8x8x3xf32>, %k: tensor<2x2x3x16xf32>) {
  // expected-error @+1 {{spatial dimension 0 is given twice}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<2x2x3x16xf32>) -> tensor<1x4x4x16xf32>
  return
}

// -----

func.func @reduce_results(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects 1 results, found 2}}
  %0:2 = "stablehlo.reduce"(%x, %s) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @while_body(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.while' op expects body arguments of the types of its operands ('tensor<f32>'), found ('tensor<i32>')}}
  %0 = "stablehlo.while"(%x) ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }, {
  ^bb0(%a: tensor<i32>):
    stablehlo.return %a : tensor<i32>
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_unranked(%x: tensor<*xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected the type of a ranked tensor, found 'tensor<*xf32>'}}
  %0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [0] : (tensor<*xf32>, tensor<f32>) -> tensor<f32>
  return
}
