// The forms of the operations that move elements.
// RUN: p3dc-opt %s | FileCheck %s
// RUN: p3dc-opt %s --mlir-print-op-generic | p3dc-opt | FileCheck %s

// CHECK-LABEL: func @static
func.func @static(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %s: tensor<f32>, %i: tensor<i32>) {
  // CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %0 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.broadcast %{{.*}}, sizes = [4] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.broadcast %v, sizes = [4] : (tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.transpose %x, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.reverse %{{.*}}, dims = [0] : tensor<4x8xf32>
  %4 = stablehlo.reverse %x, dims = [0] : tensor<4x8xf32>
  // CHECK: stablehlo.reshape %{{.*}} : (tensor<4x8xf32>) -> tensor<32xf32>
  %5 = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  // CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<8xf32>) -> tensor<8xi32>
  %6 = stablehlo.bitcast_convert %v : (tensor<8xf32>) -> tensor<8xi32>
  // CHECK: stablehlo.slice %{{.*}} [0:2, 1:8:2] : (tensor<4x8xf32>) -> tensor<2x4xf32>
  %7 = stablehlo.slice %x [0:2:1, 1:8:2] : (tensor<4x8xf32>) -> tensor<2x4xf32>
  // CHECK: stablehlo.slice %{{.*}} [] : (tensor<f32>) -> tensor<f32>
  %8 = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %9 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  // CHECK: stablehlo.dynamic_slice %{{.*}}, sizes = [] : (tensor<f32>) -> tensor<f32>
  %10 = stablehlo.dynamic_slice %s, sizes = [] : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %11 = stablehlo.dynamic_update_slice %x, %9, %i, %i : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [-1], high = [2], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>
  %12 = stablehlo.pad %v, %s, low = [-1], high = [2], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>
  // CHECK: stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 0 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<5x8xf32>
  %13 = stablehlo.concatenate %x, %9, dim = 0 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<5x8xf32>
  // CHECK: stablehlo.concatenate %{{.*}}, dim = 0 : (tensor<8xf32>) -> tensor<8xf32>
  %14 = stablehlo.concatenate %v, dim = 0 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func @dynamic
// CHECK-SAME: tensor<?x8xf32, #stablehlo.bounds<4, ?>>
func.func @dynamic(%x: tensor<?x8xf32, #stablehlo.bounds<4, ?>>, %v: tensor<8xf32>, %s: tensor<f32>, %n: tensor<i32>, %d: tensor<1xi32>, %e: tensor<2xi32>) {
  // CHECK: stablehlo.get_dimension_size %{{.*}}, dim = 0 : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<i32>
  %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x8xf32, #stablehlo.bounds<4, ?>>) -> tensor<i32>
  // The older spelling of the bounds.
  // CHECK: stablehlo.set_dimension_size %{{.*}}, %{{.*}}, dim = 0 : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<8>>
  %1 = stablehlo.set_dimension_size %v, %n, dim = 0 : (tensor<8xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.type_extensions<bounds = [8]>>
  // CHECK: stablehlo.dynamic_iota %{{.*}}, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  %2 = stablehlo.dynamic_iota %d, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  // CHECK: stablehlo.dynamic_reshape %{{.*}}, %{{.*}} : (tensor<8xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %3 = stablehlo.dynamic_reshape %v, %e : (tensor<8xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  // CHECK: stablehlo.dynamic_broadcast_in_dim %{{.*}}, %{{.*}}, dims = [1] : (tensor<8xf32>, tensor<2xi32>) -> tensor<?x8xf32>
  %4 = stablehlo.dynamic_broadcast_in_dim %v, %e, dims = [1] : (tensor<8xf32>, tensor<2xi32>) -> tensor<?x8xf32>
  // CHECK: stablehlo.real_dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  %5 = stablehlo.real_dynamic_slice %v, %d, %d, %d : (tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  // CHECK: stablehlo.dynamic_pad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  %6 = stablehlo.dynamic_pad %v, %s, %d, %d, %d : (tensor<8xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return
}
