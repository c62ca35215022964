// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-differentiate

// What cannot be differentiated is refused at its operation, with the remedy.

graph.program @loss(%x: tensor<2xf32> {graph.role = "param"}) -> tensor<2xf32> { // expected-error {{has no loss: result 0 is expected to be a scalar float}}
  graph.yield %x : tensor<2xf32>
}

// -----

module { // expected-error {{holds 0 graph.program, expected 1}}
}

// -----

graph.program @loss(%x: tensor<2xf32> {graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{of kind 'prod' has no reverse rule; write a running product of positive numbers as exp of the running sum of logarithms}}
  %c = graph.cumulative prod %x {dim = 0 : i64} : tensor<2xf32>
  %l = graph.reduce sum %c dims [0] : (tensor<2xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}

// -----

graph.program @loss(%x: tensor<2x3xf32> {graph.role = "param"}, %s: tensor<3xf32> {graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{result 1 is a statistic without a gradient, but the loss depends on it; compute it with generic operations}}
  %y, %rstd = graph.rms_norm %x, %s {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
  %l = graph.reduce sum %rstd dims [0] : (tensor<2xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}

// -----

graph.program @loss(%q: tensor<1x2x1x2xf32> {graph.role = "param"}, %m: tensor<1x1x2x2xf32> {graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{mask depends on parameters, but only the other operands have gradients; write the operation with generic ones}}
  %y, %lse = graph.attention %q, %q, %q mask %m {scale = 1.0 : f64, masked_value = -1.0e9 : f64}
      : (tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x2x1x2xf32>, tensor<1x1x2xf32>)
  %l = graph.reduce sum %y dims [0, 1, 2, 3] : (tensor<1x2x1x2xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}

// -----

graph.program @loss(%x: tensor<2xf32> {graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{cannot be differentiated: it belongs to a backward pass or a partitioned program}}
  %y = graph.silu_grad %x, %x : tensor<2xf32>
  %l = graph.reduce sum %y dims [0] : (tensor<2xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}

// -----

graph.block @inner(%x: tensor<2xf32>) -> tensor<2xf32> {
  graph.yield %x : tensor<2xf32>
}
graph.block @outer(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{stands in a block; only the program may call blocks: inline it}}
  %y = graph.call @inner(%x) : (tensor<2xf32>) -> tensor<2xf32>
  graph.yield %y : tensor<2xf32>
}
graph.program @loss(%x: tensor<2xf32> {graph.role = "param"}) -> tensor<f32> {
  %y = graph.call @outer(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %l = graph.reduce sum %y dims [0] : (tensor<2xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}

// -----

graph.program @loss(%x: tensor<f32> {graph.role = "param"}) -> tensor<f32> {
  // expected-error @below {{'stablehlo.negate' op has no reverse rule; write it with operations that have one}}
  %y = stablehlo.negate %x : tensor<f32>
  graph.yield %y : tensor<f32>
}
