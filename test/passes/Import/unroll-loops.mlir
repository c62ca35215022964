// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(func.func(p3d-unroll-loops))' | FileCheck %s

// Each iteration reads its own slice: the counter is a constant there.
// CHECK-LABEL: func.func @scan
// CHECK: %[[I0:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: stablehlo.dynamic_slice %arg0, %[[I0]],
// CHECK: %[[I1:.*]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: stablehlo.dynamic_slice %arg0, %[[I1]],
// CHECK-NOT: stablehlo.dynamic_slice
// CHECK-NOT: stablehlo.while
func.func @scan(%w: tensor<2x4xf32>, %x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<1x4xf32>
  cond {
    %n = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %row = stablehlo.dynamic_slice %w, %i, %zero, sizes = [1, 4] : (tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %z = stablehlo.multiply %y, %row : tensor<1x4xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %z : tensor<i32>, tensor<1x4xf32>
  }
  return %r#1 : tensor<1x4xf32>
}

// -----

// An unsigned counter that runs down.
// CHECK-LABEL: func.func @unsigned
// CHECK-COUNT-3: stablehlo.negate
// CHECK-NOT: stablehlo.negate
func.func @unsigned(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = stablehlo.constant dense<3> : tensor<ui32>
  %r:2 = stablehlo.while(%i = %three, %y = %x) : tensor<ui32>, tensor<4xf32>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %p = stablehlo.compare GT, %i, %zero, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<ui32>
    %z = stablehlo.negate %y : tensor<4xf32>
    %next = stablehlo.subtract %i, %one : tensor<ui32>
    stablehlo.return %next, %z : tensor<ui32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

func.func @open(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @below {{has a trip count that does not follow from constants; export the loop with a fixed number of iterations}}
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %i, %y : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

func.func @branch(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{branches on a value that is known at run time only; compute both sides and select}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
