// What the level after import promises, broken once each.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-import

// expected-error @below {{has 0 programs, expected one}}
module {
}

// -----

graph.program @loss(%x: tensor<f32> {graph.name = "x", graph.role = "param"}) -> tensor<f32> {
  graph.yield %x : tensor<f32>
}
func.func @main() {
  // expected-error @below {{'func.return' op is left after import}}
  return
}

// -----

// expected-error @below {{argument 0 has no 'graph.role'}}
graph.program @loss(%x: tensor<f32> {graph.name = "x"}) -> tensor<f32> {
  graph.yield %x : tensor<f32>
}

// -----

graph.program @loss(%x: tensor<f32> {graph.name = "x", graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{'graph.neg' op depends on a parameter and stands outside of every block}}
  %0 = graph.neg %x : tensor<f32>
  graph.yield %0 : tensor<f32>
}

// -----

graph.block @layer(%x: tensor<f32>) -> tensor<f32> {
  graph.yield %x : tensor<f32>
}
graph.program @loss(%x: tensor<f32> {graph.name = "x", graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{'graph.call' op is layer 1, expected 0}}
  %0 = graph.call @layer(%x) {layer = 1 : i64} : (tensor<f32>) -> tensor<f32>
  graph.yield %0 : tensor<f32>
}
