// One case of each form of the elementwise operations: same type, function type, and what stands between.
// RUN: p3dc-opt %s | FileCheck %s
// RUN: p3dc-opt %s --mlir-print-op-generic | p3dc-opt | FileCheck %s

// CHECK-LABEL: func @unary
func.func @unary(%x: tensor<4xf32>, %i: tensor<4xi32>, %z: tensor<4xcomplex<f32>>) {
  // CHECK: stablehlo.abs %{{.*}} : tensor<4xf32>
  %0 = stablehlo.abs %x : tensor<4xf32>
  // CHECK: stablehlo.abs %{{.*}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %1 = stablehlo.abs %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: stablehlo.cbrt %
  %2 = stablehlo.cbrt %x : tensor<4xf32>
  // CHECK: stablehlo.ceil %
  %3 = stablehlo.ceil %x : tensor<4xf32>
  // CHECK: stablehlo.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
  %4 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  // A conversion to the same type is printed by JAX.
  // CHECK: stablehlo.convert %{{.*}} : tensor<4xi32>
  %5 = stablehlo.convert %i : tensor<4xi32>
  // CHECK: stablehlo.count_leading_zeros %
  %6 = stablehlo.count_leading_zeros %i : tensor<4xi32>
  // CHECK: stablehlo.cosine %
  %7 = stablehlo.cosine %x : tensor<4xf32>
  // CHECK: stablehlo.exponential %{{.*}} {note = 1 : i64} : tensor<4xf32>
  %8 = stablehlo.exponential %x {note = 1 : i64} : tensor<4xf32>
  // CHECK: stablehlo.exponential_minus_one %
  %9 = stablehlo.exponential_minus_one %x : tensor<4xf32>
  // CHECK: stablehlo.floor %
  %10 = stablehlo.floor %x : tensor<4xf32>
  // CHECK: stablehlo.imag %{{.*}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %11 = stablehlo.imag %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: stablehlo.is_finite %{{.*}} : (tensor<4xf32>) -> tensor<4xi1>
  %12 = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK: stablehlo.log %
  %13 = stablehlo.log %x : tensor<4xf32>
  // CHECK: stablehlo.log_plus_one %
  %14 = stablehlo.log_plus_one %x : tensor<4xf32>
  // CHECK: stablehlo.logistic %
  %15 = stablehlo.logistic %x : tensor<4xf32>
  // CHECK: stablehlo.negate %
  %16 = stablehlo.negate %x : tensor<4xf32>
  // CHECK: stablehlo.not %
  %17 = stablehlo.not %i : tensor<4xi32>
  // CHECK: stablehlo.popcnt %
  %18 = stablehlo.popcnt %i : tensor<4xi32>
  // CHECK: stablehlo.real %
  %19 = stablehlo.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: stablehlo.round_nearest_afz %
  %20 = stablehlo.round_nearest_afz %x : tensor<4xf32>
  // CHECK: stablehlo.round_nearest_even %
  %21 = stablehlo.round_nearest_even %x : tensor<4xf32>
  // CHECK: stablehlo.rsqrt %
  %22 = stablehlo.rsqrt %x : tensor<4xf32>
  // CHECK: stablehlo.sign %
  %23 = stablehlo.sign %x : tensor<4xf32>
  // CHECK: stablehlo.sine %
  %24 = stablehlo.sine %x : tensor<4xf32>
  // CHECK: stablehlo.sqrt %
  %25 = stablehlo.sqrt %x : tensor<4xf32>
  // CHECK: stablehlo.tan %
  %26 = stablehlo.tan %x : tensor<4xf32>
  // CHECK: stablehlo.tanh %{{.*}} {result_accuracy = #stablehlo.result_accuracy<atol = 1.0{{0*}}e-05, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}
  %27 = stablehlo.tanh %x {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, rtol = 0.0, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  // CHECK: stablehlo.reduce_precision %{{.*}}, format = e8m7 : tensor<4xf32>
  %28 = stablehlo.reduce_precision %x, format = e8m7 : tensor<4xf32>
  return
}

// CHECK-LABEL: func @binary
func.func @binary(%x: tensor<4xf32>, %i: tensor<4xi32>, %q: tensor<4xf64>) {
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<4xf32>
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  %1 = stablehlo.add %x, %q : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  // CHECK: stablehlo.atan2 %
  %2 = stablehlo.atan2 %x, %x : tensor<4xf32>
  // CHECK: stablehlo.complex %{{.*}}, %{{.*}} : tensor<4xcomplex<f32>>
  %3 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
  // CHECK: stablehlo.divide %
  %4 = stablehlo.divide %x, %x : tensor<4xf32>
  // CHECK: stablehlo.maximum %
  %5 = stablehlo.maximum %x, %x : tensor<4xf32>
  // CHECK: stablehlo.minimum %
  %6 = stablehlo.minimum %x, %x : tensor<4xf32>
  // CHECK: stablehlo.multiply %
  %7 = stablehlo.multiply %x, %x : tensor<4xf32>
  // CHECK: stablehlo.power %
  %8 = stablehlo.power %x, %x : tensor<4xf32>
  // CHECK: stablehlo.remainder %
  %9 = stablehlo.remainder %x, %x : tensor<4xf32>
  // CHECK: stablehlo.shift_left %
  %10 = stablehlo.shift_left %i, %i : tensor<4xi32>
  // CHECK: stablehlo.shift_right_arithmetic %
  %11 = stablehlo.shift_right_arithmetic %i, %i : tensor<4xi32>
  // CHECK: stablehlo.shift_right_logical %
  %12 = stablehlo.shift_right_logical %i, %i : tensor<4xi32>
  // CHECK: stablehlo.subtract %
  %13 = stablehlo.subtract %x, %x : tensor<4xf32>
  // CHECK: stablehlo.and %
  %14 = stablehlo.and %i, %i : tensor<4xi32>
  // CHECK: stablehlo.or %
  %15 = stablehlo.or %i, %i : tensor<4xi32>
  // CHECK: stablehlo.xor %
  %16 = stablehlo.xor %i, %i : tensor<4xi32>
  return
}

// CHECK-LABEL: func @choices
func.func @choices(%x: tensor<4xf32>, %s: tensor<f32>, %p: tensor<4xi1>, %i: tensor<4xi32>, %d: tensor<?xf32>) {
  // CHECK: stablehlo.compare LT, %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %0 = stablehlo.compare LT, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // Printers before the end of 2024 wrote two spaces.
  // CHECK: stablehlo.compare NE, %{{.*}}, %{{.*}}, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %1 = stablehlo.compare  NE, %i, %i,  SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
  %2 = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %3 = stablehlo.select %p, %x, %d : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>
  %4 = stablehlo.clamp %x, %x, %x : tensor<4xf32>
  // CHECK: stablehlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func @sources
func.func @sources(%state: tensor<2xui64>, %s: tensor<f32>, %shape: tensor<1xi64>) {
  // CHECK: stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK: stablehlo.constant {note = 1 : i64} dense<0xFF800000> : tensor<f32>
  %1 = stablehlo.constant {note = 1 : i64} dense<0xFF800000> : tensor<f32>
  // CHECK: stablehlo.constant dense<{{.*}}> : tensor<4xbf16>
  %2 = stablehlo.constant dense<"0x803F003F40400000"> : tensor<4xbf16>
  // A value of another type than the result, as quantized constants have it.
  // CHECK: stablehlo.constant() <{value = dense<3> : tensor<1xi8>}> {note = 2 : i64} : () -> tensor<1xi16>
  %3 = stablehlo.constant() <{value = dense<3> : tensor<1xi8>}> {note = 2 : i64} : () -> tensor<1xi16>
  // CHECK: stablehlo.constant() <{value = dense<4> : tensor<1xi8>}> : () -> tensor<1xi16>
  %4 = stablehlo.constant() {value = dense<4> : tensor<1xi8>} : () -> tensor<1xi16>
  // CHECK: stablehlo.iota dim = 1 : tensor<2x3xi32>
  %5 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  // CHECK: stablehlo.replica_id : tensor<ui32>
  %6 = stablehlo.replica_id : tensor<ui32>
  // CHECK: stablehlo.partition_id : tensor<ui32>
  %7 = stablehlo.partition_id : tensor<ui32>
  // CHECK: stablehlo.rng_bit_generator %{{.*}}, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  %8, %9 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  // CHECK: stablehlo.rng %{{.*}}, %{{.*}}, %{{.*}}, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  %10 = stablehlo.rng %s, %s, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  return
}
