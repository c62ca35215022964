// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect -p3d-check-input

// Everything that is not taken is one error.
func.func @main(%w: tensor<4x4xf32>) -> tensor<f32> {
  // expected-error @below {{3 operations are not supported: stablehlo.cholesky (2 times), custom_call @tpu_custom_call; express them by other StableHLO operations in the model}}
  %0 = stablehlo.cholesky %w : tensor<4x4xf32>
  %1 = stablehlo.cholesky %0 : tensor<4x4xf32>
  // expected-note @below {{first custom_call @tpu_custom_call is here}}
  %2 = stablehlo.custom_call @tpu_custom_call(%1) : (tensor<4x4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// expected-error @below {{the module is a training step: argument 0 has the attribute 'tf.aliasing_output'}}
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<4xf32>, tensor<f32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  return %w, %0 : tensor<4xf32>, tensor<f32>
}

// -----

// expected-error @below {{the module is a training step: 2 of its 3 results are arguments plus or minus something}}
func.func @main(%w: tensor<4xf32>, %b: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.subtract %w, %g : tensor<4xf32>
  %2 = stablehlo.subtract %b, %g : tensor<4xf32>
  return %1, %2, %0 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// expected-error @below {{function 'main' returns 'tensor<4xf32>' first; expected a scalar loss of floating-point type: export the loss function, not the forward function}}
func.func @main(%w: tensor<4xf32>) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{function 'main' has no argument of floating-point type, so there is nothing to train}}
func.func @main(%ids: tensor<4xi32>) -> tensor<f32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%w: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{'mhlo.add' is of the dialect mhlo, which StableHLO has replaced}}
  %0 = "mhlo.add"(%w, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%w: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{'stablehlo.partition_id': the module is partitioned already}}
  %0 = stablehlo.partition_id : tensor<ui32>
  %1 = stablehlo.constant dense<0.0> : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// expected-error @below {{argument 0 has the type 'tensor<?xf32>'; expected a tensor of static shape}}
func.func @main(%w: tensor<?xf32>) -> tensor<f32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
