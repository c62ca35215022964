// RUN: p3dc-opt %s -verify-diagnostics -pass-pipeline='builtin.module(func.func(p3d-unroll-loops{max-trips=2}))'

func.func @three(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = stablehlo.constant dense<3> : tensor<ui32>
  // expected-error @below {{runs for more than 2 iterations; export fewer, or raise the option max-trips of p3d-unroll-loops}}
  %r:2 = stablehlo.while(%i = %three, %y = %x) : tensor<ui32>, tensor<4xf32>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %p = stablehlo.compare GT, %i, %zero, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<ui32>
    %next = stablehlo.subtract %i, %one : tensor<ui32>
    stablehlo.return %next, %y : tensor<ui32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
