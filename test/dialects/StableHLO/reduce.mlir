// The two forms of reduce: a named reduction, whose region the parser rebuilds, and any region.
// RUN: p3dc-opt %s | FileCheck %s
// RUN: p3dc-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: p3dc-opt %s --mlir-print-op-generic | p3dc-opt | FileCheck %s

// CHECK-LABEL: func @short
func.func @short(%x: tensor<2x3xf32>, %zero: tensor<f32>) -> tensor<2xf32> {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // GENERIC: "stablehlo.reduce"(%{{.*}}, %{{.*}}) <{dimensions = array<i64: 1>}> ({
  // GENERIC-NEXT: ^bb0(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>):
  // GENERIC-NEXT: %[[C:.*]] = "stablehlo.add"(%[[A]], %[[B]]) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // GENERIC-NEXT: "stablehlo.return"(%[[C]])
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func @two_values
func.func @two_values(%v: tensor<4x9xf32>, %k: tensor<4x9xi32>, %v0: tensor<f32>, %k0: tensor<i32>) -> tensor<4xi32> {
  // CHECK: %[[R:.*]]:2 = stablehlo.reduce(%{{.*}} init: %{{.*}}), (%{{.*}} init: %{{.*}}) across dimensions = [1] : (tensor<4x9xf32>, tensor<4x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
  // CHECK-NEXT: reducer(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>) (%[[C:.*]]: tensor<i32>, %[[D:.*]]: tensor<i32>) {
  // CHECK-NEXT: %[[P:.*]] = stablehlo.compare GT, %[[A]], %[[B]]
  %0:2 = stablehlo.reduce(%v init: %v0), (%k init: %k0) across dimensions = [1] : (tensor<4x9xf32>, tensor<4x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%a: tensor<f32> loc("left"), %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
    %p = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %x = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
    %y = stablehlo.select %p, %c, %d : tensor<i1>, tensor<i32>
    stablehlo.return %x, %y : tensor<f32>, tensor<i32>
  } loc("argmax")
  return %0#1 : tensor<4xi32>
}

// CHECK-LABEL: func @swapped_operands
func.func @swapped_operands(%x: tensor<2x3xf32>, %one: tensor<f32>) -> tensor<2xf32> {
  // The short form says nothing of the order of the operands, so that this one is printed in full.
  // CHECK: reducer(
  %0 = stablehlo.reduce(%x init: %one) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %1 = stablehlo.multiply %b, %a : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<2xf32>
}
