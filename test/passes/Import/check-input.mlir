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

// expected-error @below {{the module is a training step: argument 0 has the attribute 'tf.aliasing_output'; p3dc builds the backward pass and the optimizer itself: export the loss function alone, jax.jit(loss).lower(params, batch)}}
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

// expected-error @below {{function 'main' has no argument of floating-point type, so there is nothing to train; are the weights constants of the module?}}
func.func @main(%ids: tensor<4xi32>) -> tensor<f32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%w: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{'mhlo.add' is of the dialect mhlo, which StableHLO has replaced; export the model as StableHLO text, with jax.jit(loss).lower(...).as_text() or torch_xla's exporter}}
  %0 = "mhlo.add"(%w, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%w: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{'stablehlo.partition_id': the module is partitioned already (by shard_map, pmap or another partitioner); export the loss function without it, in global shapes, and give the mesh to p3dc}}
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

// -----

// expected-error @below {{function 'main' has several blocks; expected one}}
func.func @main(%w: tensor<f32>) -> tensor<f32> {
  return %w : tensor<f32>
^bb1:
  return %w : tensor<f32>
}
