// What the level after sharding promises, broken once each.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-shardings

// No sharding.
graph.program @loss(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'graph.neg' op has a value without a sharding}}
  %0 = graph.neg %x : tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// Operands cut differently.
graph.program @loss(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:2}]>}, %y: tensor<4xf32> {dist.sharding = #dist.sharding<[{}]>}) -> tensor<4xf32> {
  // expected-error @below {{'graph.add' op operand 1 has dimension -1 cut over tp, expected 0 (-1: none)}}
  %0 = graph.add %x, %y {dist.shardings = [#dist.sharding<[{tp:2}]>]} : tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// A partial operand of a cut operation.
graph.program @loss(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<[{tp:2},{}]>}, %y: tensor<4xf32> {dist.sharding = #dist.sharding<[{}] unreduced{tp}>}) -> tensor<4xf32> {
  // expected-error @below {{'graph.einsum' op operand 1 is partial over tp, which cuts the operation; it must be complete}}
  %0 = graph.einsum "ab,b->a" %x, %y {dist.shardings = [#dist.sharding<[{tp:2}]>]} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// A partial operand of a function that is not linear.
graph.program @loss(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{}] unreduced{tp}>}) -> tensor<4xf32> {
  // expected-error @below {{'graph.tanh' op has an operand that is partial over tp but is not linear in it; a reshard is missing}}
  %0 = graph.tanh %x {dist.shardings = [#dist.sharding<[{}] unreduced{tp}>]} : tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// A result that is not as the operation makes it.
graph.program @loss(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[{tp:2}]>}) -> tensor<4xf32> {
  // expected-error @below {{'graph.neg' op result 0 has sharding #dist.sharding<[{}]>, expected cut over tp}}
  %0 = graph.neg %x {dist.shardings = [#dist.sharding<[{}]>]} : tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}
