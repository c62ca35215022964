// Each constraint of a named operation, broken once; a label C1 .. is that of the operation's documentation.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics

// layer_norm
func.func @layer_norm(%s: tensor<f32>) {
  // expected-error @+1 {{'graph.layer_norm' op has an operand of rank 0, expected at least 1}}
  %0:3 = graph.layer_norm %s, %s, %s {epsilon = 1.0 : f64} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// layer_norm
func.func @layer_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %u: tensor<4xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op scale has shape [4], expected [8]}}
  %0:3 = graph.layer_norm %x, %u, %w {epsilon = 1.0 : f64} : (tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// layer_norm
func.func @layer_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %u: tensor<4xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op bias has shape [4], expected [8]}}
  %0:3 = graph.layer_norm %x, %w, %u {epsilon = 1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// layer_norm
func.func @layer_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %u: tensor<4xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op mean has shape [8], expected [4]}}
  %0:3 = graph.layer_norm %x, %w, %w {epsilon = 1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

// layer_norm
func.func @layer_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %u: tensor<4xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op rstd has shape [8], expected [4]}}
  %0:3 = graph.layer_norm %x, %w, %w {epsilon = 1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>)
  return
}

// -----

// layer_norm
func.func @layer_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %u: tensor<4xf32>) {
  // expected-error @+1 {{'graph.layer_norm' op result has shape [8, 8], expected [4, 8]}}
  %0:3 = graph.layer_norm %x, %w, %w {epsilon = 1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// rms_norm
func.func @rms_norm(%s: tensor<f32>) {
  // expected-error @+1 {{'graph.rms_norm' op has an operand of rank 0, expected at least 1}}
  %0:2 = graph.rms_norm %s, %s {epsilon = 1.0 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// rms_norm
func.func @rms_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %u: tensor<4xf32>) {
  // expected-error @+1 {{'graph.rms_norm' op rstd has shape [8], expected [4]}}
  %0:2 = graph.rms_norm %x, %w {epsilon = 1.0 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

// softmax_cross_entropy
func.func @softmax_cross_entropy(%s: tensor<f32>, %t: tensor<i32>) {
  // expected-error @+1 {{'graph.softmax_cross_entropy' op has logits of rank 0, expected at least 1}}
  %0:3 = graph.softmax_cross_entropy %s, %t : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// softmax_cross_entropy
func.func @softmax_cross_entropy(%x: tensor<4x8xf32>, %t: tensor<8xi32>) {
  // expected-error @+1 {{'graph.softmax_cross_entropy' op targets has shape [8], expected [4]}}
  %0:3 = graph.softmax_cross_entropy %x, %t : (tensor<4x8xf32>, tensor<8xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// softmax_cross_entropy
func.func @softmax_cross_entropy(%x: tensor<4x8xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.softmax_cross_entropy' op max has shape [8], expected [4]}}
  %0:3 = graph.softmax_cross_entropy %x, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

// softmax_cross_entropy
func.func @softmax_cross_entropy(%x: tensor<4x8xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.softmax_cross_entropy' op sum has shape [8], expected [4]}}
  %0:3 = graph.softmax_cross_entropy %x, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<8xf32>)
  return
}

// -----

// softmax_cross_entropy
func.func @softmax_cross_entropy(%x: tensor<4x8xf32>, %t: tensor<4xi32>) {
  // expected-error @+1 {{'graph.softmax_cross_entropy' op loss has shape [8], expected [4]}}
  %0:3 = graph.softmax_cross_entropy %x, %t : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// rope
func.func @rope(%x: tensor<4x8xf32>, %c: tensor<4x8xf32>, %s: tensor<4x8xf32>) {
  // expected-error @+1 {{'graph.rope' op operand shape has 2 entries, expected 4}}
  %0 = graph.rope %x, %c, %s : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// rope
func.func @rope(%x: tensor<2x4x2x3xf32>, %c: tensor<4x3xf32>, %s: tensor<4x3xf32>) {
  // expected-error @+1 {{'graph.rope' op has an operand whose last dimension is 3, expected an even size}}
  %0 = graph.rope %x, %c, %s : (tensor<2x4x2x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<2x4x2x3xf32>
  return
}

// -----

// rope
func.func @rope(%x: tensor<2x4x2x6xf32>, %c: tensor<4x6xf32>, %s: tensor<8x6xf32>) {
  // expected-error @+1 {{'graph.rope' op sin has shape [8, 6], expected [4, 6]}}
  %0 = graph.rope %x, %c, %s : (tensor<2x4x2x6xf32>, tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<2x4x2x6xf32>
  return
}

// -----

// rope
func.func @rope(%x: tensor<2x4x2x6xf32>, %c: tensor<8x6xf32>, %s: tensor<8x6xf32>) {
  // expected-error @+1 {{'graph.rope' op cos has shape [8, 6], expected [4, 6]}}
  %0 = graph.rope %x, %c, %s : (tensor<2x4x2x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<2x4x2x6xf32>
  return
}

// -----

// attention
func.func @attention(%q: tensor<2x4x8xf32>, %k: tensor<1x3x2x8xf32>, %v: tensor<1x3x2x8xf32>) {
  // expected-error @+1 {{'graph.attention' op query shape has 3 entries, expected 4}}
  %0:2 = graph.attention %q, %k, %v {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<2x4x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<3x2x8xf32>, %v: tensor<1x3x2x8xf32>) {
  // expected-error @+1 {{'graph.attention' op key shape has 3 entries, expected 4}}
  %0:2 = graph.attention %q, %k, %v {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<1x2x4x8xf32>, tensor<3x2x8xf32>, tensor<1x3x2x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention C1
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x3x8xf32>, %v: tensor<1x3x3x8xf32>) {
  // expected-error @+1 {{'graph.attention' op C1: 4 query heads over 3 key heads; expected a multiple, so that each key head serves as many query heads}}
  %0:2 = graph.attention %q, %k, %v {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<1x2x4x8xf32>, tensor<1x3x3x8xf32>, tensor<1x3x3x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x2x4xf32>, %v: tensor<1x3x2x4xf32>) {
  // expected-error @+1 {{'graph.attention' op key has shape [1, 3, 2, 4], expected [1, 3, 2, 8]}}
  %0:2 = graph.attention %q, %k, %v {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<1x2x4x8xf32>, tensor<1x3x2x4xf32>, tensor<1x3x2x4xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x2x8xf32>, %v: tensor<1x5x2x8xf32>) {
  // expected-error @+1 {{'graph.attention' op value has shape [1, 5, 2, 8], expected [1, 3, 2, 8]}}
  %0:2 = graph.attention %q, %k, %v {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<1x2x4x8xf32>, tensor<1x3x2x8xf32>, tensor<1x5x2x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x2x8xf32>, %v: tensor<1x3x2x8xf32>) {
  // expected-error @+1 {{'graph.attention' op result has shape [1, 2, 2, 8], expected [1, 2, 4, 8]}}
  %0:2 = graph.attention %q, %k, %v {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<1x2x4x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>) -> (tensor<1x2x2x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x2x8xf32>, %v: tensor<1x3x2x8xf32>) {
  // expected-error @+1 {{'graph.attention' op lse has shape [1, 2, 4], expected [1, 4, 2]}}
  %0:2 = graph.attention %q, %k, %v {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<1x2x4x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

// attention
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x2x8xf32>, %v: tensor<1x3x2x8xf32>, %m: tensor<2x3xf32>) {
  // expected-error @+1 {{'graph.attention' op mask shape has 2 entries, expected 4}}
  %0:2 = graph.attention %q, %k, %v mask %m {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<1x2x4x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>, tensor<2x3xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}

// -----

// attention
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x2x8xf32>, %v: tensor<1x3x2x8xf32>, %m: tensor<1x1x3x3xf32>) {
  // expected-error @+1 {{'graph.attention' op mask has shape [1, 1, 3, 3], expected [1, 1, 2, 3]}}
  %0:2 = graph.attention %q, %k, %v mask %m {scale = 1.0 : f64, masked_value = -1.0e9 : f64} : (tensor<1x2x4x8xf32>, tensor<1x3x2x8xf32>, tensor<1x3x2x8xf32>, tensor<1x1x3x3xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x4x2xf32>)
  return
}
