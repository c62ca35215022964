// Meshes, shardings and the operations of sdy.
// RUN: p3dc-opt %s | FileCheck %s
// RUN: p3dc-opt %s --mlir-print-op-generic | p3dc-opt | FileCheck %s

// CHECK: sdy.mesh @mesh = <["data"=8, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 8 : i64}]}}
sdy.mesh @mesh = <["data"=8, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 8 : i64}]}}
// CHECK: sdy.mesh @permuted = <["x"=2], device_ids=[1, 0]>
sdy.mesh @permuted = #sdy.mesh<["x"=2], device_ids=[1, 0]>
// CHECK: sdy.mesh @counted = <["x"=2]>
sdy.mesh @counted = <["x"=2], device_ids=[0, 1]>
// CHECK: sdy.mesh @none = <[]>
sdy.mesh @none = <[]>
// CHECK: sdy.mesh @maximal = <[], device_ids=[0]>
sdy.mesh @maximal = <[], device_ids=[0]>

// CHECK-LABEL: func @arguments
func.func @arguments(
    // CHECK-SAME{LITERAL}: #sdy.sharding<@mesh, [{"data"}, {}]>
    %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    // CHECK-SAME{LITERAL}: #sdy.sharding<@mesh, [{"data", "model", ?}p0, {?}p12]>
    %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model", ?}p0, {?}p12]>},
    // CHECK-SAME{LITERAL}: #sdy.sharding<@mesh, [{"data":(2)4}, {"model":(1)2, "data":(1)2}]>
    %c: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data":(2)4}, {"model":(1)2, "data":(1)2}]>},
    // CHECK-SAME{LITERAL}: #sdy.sharding<@mesh, [], replicated={"data"}, unreduced={"model":(2)2}>
    %d: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, [], unreduced={"model":(2)2}, replicated={"data"}>},
    // CHECK-SAME{LITERAL}: #sdy.sharding<mesh<["x"=2], device_ids=[1, 0]>, [{"x"}], unreduced=max{"y"}>
    %e: tensor<4xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2], device_ids=[1, 0]>, [{"x"}], unreduced=max{"y"}>}) {
  return
}

// CHECK-LABEL: func @operations
func.func @operations(%x: tensor<8x4xf32>) {
  // CHECK{LITERAL}: {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {?}]>]>} : tensor<8x4xf32>
  %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {?}]>]>} : tensor<8x4xf32>
  // CHECK: sdy.sharding_constraint %{{.*}} <@mesh, [{"data", "model"}, {}]> : tensor<8x4xf32>
  %1 = sdy.sharding_constraint %x <@mesh, [{"data", "model"}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.reshard %{{.*}} <@mesh, [{}, {}]> {note = 1 : i64} : tensor<8x4xf32>
  %2 = sdy.reshard %x <@mesh, [{}, {}]> {note = 1 : i64} : tensor<8x4xf32>
  // CHECK: sdy.constant dense<0.000000e+00> : tensor<4xf32>
  %3 = sdy.constant dense<0.0> : tensor<4xf32>
  // CHECK: sdy.sharding_group %{{.*}} group_id=3 : tensor<8x4xf32>
  sdy.sharding_group %x group_id=3 : tensor<8x4xf32>
  // CHECK: sdy.propagation_barrier %{{.*}} allowed_direction=BACKWARD : tensor<8x4xf32>
  %4 = sdy.propagation_barrier %x allowed_direction=BACKWARD : tensor<8x4xf32>
  // CHECK{LITERAL}: sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>
  %5 = stablehlo.custom_call @foo(%x) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: #sdy<axis_ref"model":(1)2>
  %6 = stablehlo.abs %x {note = #sdy<axis_ref"model":(1)2>} : tensor<8x4xf32>
  return
}

// CHECK-LABEL: func @regions
func.func @regions(%x: tensor<8x4xf32>, %s: tensor<f32>) {
  // CHECK: sdy.manual_computation(%{{.*}}, %{{.*}}) in_shardings=[<@mesh, [{"data"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data", "model"} (%[[A:.*]]: tensor<1x4xf32>, %[[B:.*]]: tensor<f32>) {
  // CHECK-NEXT: sdy.return %[[A]] : tensor<1x4xf32>
  // CHECK-NEXT: } : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %0 = sdy.manual_computation(%x, %s) in_shardings=[<@mesh, [{"data"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data", "model"} (%a: tensor<1x4xf32>, %b: tensor<f32>) {
    sdy.return %a : tensor<1x4xf32>
  } : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // CHECK: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return
  } : () -> ()
  // CHECK: sdy.named_computation<"block">(%{{.*}}) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] (%[[A:.*]]: tensor<8x4xf32>) {
  %1 = sdy.named_computation<"block">(%x) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] (%a: tensor<8x4xf32>) {
    sdy.return %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: sdy.named_computation<"plain">(%{{.*}}) (%{{.*}}: tensor<8x4xf32>) {
  %2 = sdy.named_computation<"plain">(%x) (%a: tensor<8x4xf32>) {
    sdy.return %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
