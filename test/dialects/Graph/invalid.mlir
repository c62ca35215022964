// Each constraint of a call and of the generic operations, broken once; a label C1 .. is that of the operation's documentation.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics

// call
graph.program @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'graph.call' op calls 'layer', which is no graph.block of this module}}
  %0 = graph.call @layer(%x) : (tensor<f32>) -> tensor<f32>
  graph.yield %0 : tensor<f32>
}

// -----

// call
graph.block @layer(%x: tensor<f32>) -> tensor<f32> {
  graph.yield %x : tensor<f32>
}
graph.program @main(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'graph.call' op operand types ('tensor<4xf32>') differ from the arguments of 'layer' ('tensor<f32>')}}
  %0 = graph.call @layer(%x) : (tensor<4xf32>) -> tensor<f32>
  graph.yield %0 : tensor<f32>
}

// -----

// call
graph.block @layer(%x: tensor<f32>) -> tensor<f32> {
  graph.yield %x : tensor<f32>
}
graph.program @main(%x: tensor<f32>) -> tensor<4xf32> {
  // expected-error @+1 {{'graph.call' op result types ('tensor<4xf32>') differ from those of 'layer' ('tensor<f32>')}}
  %0 = graph.call @layer(%x) : (tensor<f32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// select
func.func @select(%p: tensor<8xi1>, %x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.select' op predicate has shape [8], expected [4, 8]}}
  %0 = graph.select %p, %x, %x : (tensor<8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// iota
func.func @iota() {
  // expected-error @+1 {{'graph.iota' op dim is 1, expected at least 0 and below 1}}
  %0 = graph.iota {dim = 1 : i64} : tensor<4xi32>
  return
}

// -----

// broadcast C1
func.func @broadcast(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.broadcast' op dims has 1 entries, expected 2}}
  %0 = graph.broadcast %x dims [0] : (tensor<4x8xf32>) -> tensor<4x8x2xf32>
  return
}

// -----

// broadcast C1
func.func @broadcast(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.broadcast' op dims entry is 0, expected at least 2 and below 3}}
  %0 = graph.broadcast %x dims [1, 0] : (tensor<4x8xf32>) -> tensor<8x4x2xf32>
  return
}

// -----

// broadcast C2
func.func @broadcast(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.broadcast' op operand dimension 1 of size 8 becomes dimension 1 of size 2; expected the same size or 1}}
  %0 = graph.broadcast %x dims [0, 1] : (tensor<4x8xf32>) -> tensor<4x2xf32>
  return
}

// -----

// reshape C1
func.func @reshape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.reshape' op has a result of 31 elements, but its operand has 32; expected as many}}
  %0 = graph.reshape %x : (tensor<4x8xf32>) -> tensor<31xf32>
  return
}

// -----

// transpose
func.func @transpose(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op permutation has 1 entries, expected 2}}
  %0 = graph.transpose %x [1] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

// transpose
func.func @transpose(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op permutation entry is 2, expected at least 0 and below 2}}
  %0 = graph.transpose %x [2, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

// transpose
func.func @transpose(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op permutation names dimension 1 twice}}
  %0 = graph.transpose %x [1, 1] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// transpose
func.func @transpose(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.transpose' op result has shape [4, 8], expected [8, 4]}}
  %0 = graph.transpose %x [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// slice
func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.slice' op starts has 1 entries, expected 2}}
  %0 = graph.slice %x [0] to [4, 8] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// slice
func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.slice' op limits has 1 entries, expected 2}}
  %0 = graph.slice %x [0, 0] to [4] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// slice
func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.slice' op strides has 1 entries, expected 2}}
  %0 = graph.slice %x [0, 0] to [4, 8] step [1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// slice
func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.slice' op takes [0:9:1] of a dimension of size 8}}
  %0 = graph.slice %x [0, 0] to [4, 9] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return
}

// -----

// pad
func.func @pad(%x: tensor<4x8xf32>, %v: tensor<2xf32>) {
  // expected-error @+1 {{'graph.pad' op value has shape [2], expected []}}
  %0 = graph.pad %x, %v low [0, 0] high [0, 0] interior [0, 0] : (tensor<4x8xf32>, tensor<2xf32>) -> tensor<4x8xf32>
  return
}

// -----

// pad
func.func @pad(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'graph.pad' op interior padding of -1, expected 0 or more}}
  %0 = graph.pad %x, %v low [0, 0] high [0, 0] interior [0, -1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

// pad
func.func @pad(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'graph.pad' op low has 1 entries, expected 2}}
  %0 = graph.pad %x, %v low [0] high [0, 0] interior [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

// pad
func.func @pad(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'graph.pad' op high has 1 entries, expected 2}}
  %0 = graph.pad %x, %v low [0, 0] high [0] interior [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

// pad
func.func @pad(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'graph.pad' op interior has 1 entries, expected 2}}
  %0 = graph.pad %x, %v low [0, 0] high [0, 0] interior [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

// concat
func.func @concat() {
  // expected-error @+1 {{'graph.concat' op has no operand}}
  %0 = "graph.concat"() {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

// concat
func.func @concat(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.concat' op dim is 2, expected at least 0 and below 2}}
  %0 = graph.concat %x {dim = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// concat
func.func @concat(%y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.concat' op operand shape has 1 entries, expected 2}}
  %0 = graph.concat %y {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

// concat
func.func @concat(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.concat' op operand, its concatenated dimension aside, has shape [8, 8], expected [8, 7]}}
  %0 = graph.concat %x, %x {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x7xf32>
  return
}

// -----

// concat
func.func @concat(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.concat' op sum of the concatenated sizes is 8, expected at least 9 and below 10}}
  %0 = graph.concat %x, %x {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  return
}

// -----

// reduce C1
func.func @reduce(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.reduce' op dims entry is 0, expected at least 1 and below 2}}
  %0 = graph.reduce sum %x dims [0, 0] : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

// reduce
func.func @reduce(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.reduce' op result has shape [4], expected [8]}}
  %0 = graph.reduce sum %x dims [0] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

// einsum
func.func @einsum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.einsum' op spec 'ab->b' is not of the form "ab,bc->ac"}}
  %0 = graph.einsum "ab->b" %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

// einsum
func.func @einsum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.einsum' op a tensor of 'a,ab->b' has 2 entries, expected 1}}
  %0 = graph.einsum "a,ab->b" %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

// einsum C1
func.func @einsum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.einsum' op letter 'a' stands twice in 'aa'}}
  %0 = graph.einsum "aa,ab->b" %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

// einsum C2
func.func @einsum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.einsum' op letter 'c' of the result stands in no operand}}
  %0 = graph.einsum "ab,ab->c" %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

// einsum C3
func.func @einsum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.einsum' op letter 'b' has sizes 8 and 4}}
  %0 = graph.einsum "ab,bc->ac" %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// gather
func.func @gather(%x: tensor<4x8xf32>, %ids: tensor<3xi32>) {
  // expected-error @+1 {{'graph.gather' op axis is 2, expected at least 0 and below 2}}
  %0 = graph.gather %x, %ids {axis = 2 : i64, batch_dims = 0 : i64} : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  return
}

// -----

// gather
func.func @gather(%x: tensor<4x8xf32>, %ids: tensor<3xi32>) {
  // expected-error @+1 {{'graph.gather' op batch_dims is 1, expected at least 0 and below 1}}
  %0 = graph.gather %x, %ids {axis = 0 : i64, batch_dims = 1 : i64} : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  return
}

// -----

// gather
func.func @gather(%x: tensor<4x8xf32>, %ids: tensor<3xi32>) {
  // expected-error @+1 {{'graph.gather' op batch part of ids has shape [3], expected [4]}}
  %0 = graph.gather %x, %ids {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  return
}

// -----

// gather
func.func @gather(%x: tensor<4x8xf32>, %ids: tensor<3xi32>) {
  // expected-error @+1 {{'graph.gather' op gathered tensor has shape [4, 8], expected [3, 8]}}
  %0 = graph.gather %x, %ids {axis = 0 : i64, batch_dims = 0 : i64} : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  return
}

// -----

// scatter_add
func.func @scatter_add(%x: tensor<4x8xf32>, %ids: tensor<3xi32>) {
  // expected-error @+1 {{'graph.scatter_add' op gathered tensor has shape [4, 8], expected [3, 8]}}
  %0 = graph.scatter_add %x, %ids {axis = 0 : i64, batch_dims = 0 : i64} : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<9x8xf32>
  return
}

// -----

// embedding
func.func @embedding(%t: tensor<8xf32>, %ids: tensor<3xi32>) {
  // expected-error @+1 {{'graph.embedding' op table has rank 1, expected 2}}
  %0 = graph.embedding %t, %ids : (tensor<8xf32>, tensor<3xi32>) -> tensor<3xf32>
  return
}
