// The forms of control flow, barriers, calls, tuples and tokens.
// RUN: p3dc-opt %s | FileCheck %s
// RUN: p3dc-opt %s --mlir-print-op-generic | p3dc-opt | FileCheck %s

// CHECK-LABEL: func @loop
func.func @loop(%x: tensor<8x4xf32>, %n: tensor<i32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: %[[R:.*]]:2 = stablehlo.while(%[[X:.*]] = %{{.*}}, %[[I:.*]] = %{{.*}}) : tensor<8x4xf32>, tensor<i32> attributes {note = 1 : i64}
  // CHECK-NEXT: cond {
  // CHECK-NEXT: %[[P:.*]] = stablehlo.compare LT, %[[I]], %{{.*}}, SIGNED
  // CHECK-NEXT: stablehlo.return %[[P]] : tensor<i1>
  // CHECK-NEXT: } do {
  // CHECK-NEXT: %[[J:.*]] = stablehlo.add %[[I]], %{{.*}} : tensor<i32>
  // CHECK-NEXT: stablehlo.return %[[X]], %[[J]] : tensor<8x4xf32>, tensor<i32>
  %0:2 = stablehlo.while(%a = %x, %i = %zero) : tensor<8x4xf32>, tensor<i32> attributes {note = 1 : i64}
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %a, %j : tensor<8x4xf32>, tensor<i32>
  }
  return %0#0 : tensor<8x4xf32>
}

// CHECK-LABEL: func @branches
func.func @branches(%p: tensor<i1>, %i: tensor<i32>, %x: tensor<f32>) {
  // CHECK: "stablehlo.if"(%{{.*}}) ({
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  // CHECK: "stablehlo.case"(%{{.*}}) ({
  %1 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }, {
    stablehlo.return %x : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func @barriers
func.func @barriers(%x: tensor<f32>, %y: tensor<2xf32>) {
  // CHECK: stablehlo.optimization_barrier()
  stablehlo.optimization_barrier()
  // CHECK: stablehlo.optimization_barrier %{{.*}} : tensor<f32>
  %0 = stablehlo.optimization_barrier %x : tensor<f32>
  // CHECK: stablehlo.optimization_barrier {note = 1 : i64} %{{.*}}, %{{.*}} : tensor<f32>, tensor<2xf32>
  %1:2 = stablehlo.optimization_barrier {note = 1 : i64} %x, %y : tensor<f32>, tensor<2xf32>
  return
}

// CHECK-LABEL: func @calls
func.func @calls(%x: tensor<8x4xbf16>) {
  // CHECK: stablehlo.custom_call @Sharding(%{{.*}}) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %0 = stablehlo.custom_call @Sharding(%x) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // CHECK: stablehlo.custom_call @mhlo.topk(%{{.*}}) {mhlo.attributes = {k = 2 : i64}, mhlo.version = 1 : i64} : (tensor<8x4xbf16>) -> (tensor<8x2xbf16>, tensor<8x2xi32>)
  %1:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64}, mhlo.version = 1 : i64} : (tensor<8x4xbf16>) -> (tensor<8x2xbf16>, tensor<8x2xi32>)
  // CHECK: stablehlo.custom_call @"not an identifier"(%{{.*}}) {api_version = 4 : i32, backend_config = {algorithm = 1 : i64}, has_side_effect = true, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<>]} : (tensor<8x4xbf16>) -> ()
  stablehlo.custom_call @"not an identifier"(%x) {api_version = 4 : i32, backend_config = {algorithm = 1 : i64}, has_side_effect = true, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<8x4xbf16>) -> ()
  // CHECK: stablehlo.composite "my.norm" %{{.*}} {composite_attributes = {eps = 5.000000e-01 : f32}, decomposition = @my.norm.impl, version = 1 : i32} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  %2 = stablehlo.composite "my.norm" %x {composite_attributes = {eps = 0.5 : f32}, decomposition = @my.norm.impl, version = 1 : i32} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  // CHECK: stablehlo.composite "with.region" %{{.*}}({
  %3 = stablehlo.composite "with.region" %x ({
    stablehlo.return
  }) {decomposition = @my.norm.impl} : (tensor<8x4xbf16>) -> tensor<8x4xbf16>
  return
}
func.func private @my.norm.impl(%x: tensor<8x4xbf16>) -> tensor<8x4xbf16>

// CHECK-LABEL: func @tuples
func.func @tuples(%x: tensor<f32>, %y: tensor<2xi32>, %future: !stablehlo.future<tensor<f32>, tensor<2xi32>>) {
  // CHECK: stablehlo.tuple %{{.*}}, %{{.*}} : tuple<tensor<f32>, tensor<2xi32>>
  %0 = stablehlo.tuple %x, %y : tuple<tensor<f32>, tensor<2xi32>>
  // CHECK: stablehlo.get_tuple_element %{{.*}}[1] : (tuple<tensor<f32>, tensor<2xi32>>) -> tensor<2xi32>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<f32>, tensor<2xi32>>) -> tensor<2xi32>
  // CHECK: stablehlo.create_token : !stablehlo.token
  %2 = stablehlo.create_token : !stablehlo.token
  // CHECK: stablehlo.after_all %{{.*}}, %{{.*}} : !stablehlo.token
  %3 = stablehlo.after_all %2, %2 : !stablehlo.token
  return
}
