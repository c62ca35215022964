// The operations that exist in generic form only, and both places of inherent attributes: `<{}>` and, older, `{}`.
// RUN: p3dc-opt %s | FileCheck %s
// RUN: p3dc-opt %s | p3dc-opt | FileCheck %s

// CHECK-LABEL: func @old_generic
func.func @old_generic(%x: tensor<4x8xf32>) {
  // CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] {note = 1 : i64} : (
  %0 = "stablehlo.transpose"(%x) {permutation = array<i64: 1, 0>, note = 1 : i64} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] {note = 1 : i64} : (
  %1 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> {note = 1 : i64} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.compare EQ, %{{.*}}, %{{.*}}, FLOAT : (
  %2 = "stablehlo.compare"(%x, %x) {comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  return
}

// CHECK-LABEL: func @indexing
func.func @indexing(%table: tensor<16x4xf32>, %ids: tensor<7x1xi32>, %rows: tensor<7x4xf32>) {
  // CHECK: "stablehlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<index_vector_dim = 1, collapsed_slice_dims = [0], start_index_map = [0], offset_dims = [1]>, slice_sizes = array<i64: 1, 4>}> : (tensor<16x4xf32>, tensor<7x1xi32>) -> tensor<7x4xf32>
  // CHECK: #stablehlo.gather<operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1]>, indices_are_sorted = true, slice_sizes
  %1 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 0>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<16x4xf32>, tensor<7x1xi32>) -> tensor<7x4xf32>
  // CHECK: "stablehlo.scatter"(%{{.*}}, %{{.*}}, %{{.*}}) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>):
  %2 = "stablehlo.scatter"(%table, %ids, %rows) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<7x1xi32>, tensor<7x4xf32>) -> tensor<16x4xf32>
  return
}

// CHECK-LABEL: func @regions
func.func @regions(%x: tensor<2x8xf32>, %i: tensor<2x8xi32>, %zero: tensor<f32>) {
  // CHECK: "stablehlo.sort"(%{{.*}}, %{{.*}}) <{dimension = 1 : i64, is_stable = true}> ({
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<2x8xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xi32>)
  // A running sum.
  // CHECK: "stablehlo.reduce_window"(%{{.*}}, %{{.*}}) <{padding = dense<{{\[\[}}0, 0], [7, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 8>}> ({
  %1 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 0], [7, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 8>}> ({
  ^bb0(%a: tensor<f32> loc("left"), %b: tensor<f32> loc("right")):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  // CHECK: "stablehlo.map"(%{{.*}}) <{dimensions = array<i64: 0, 1>}> ({
  %2 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// CHECK-LABEL: func @collectives
func.func @collectives(%x: tensor<4x8xf32>) {
  // CHECK: "stablehlo.all_reduce"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: "stablehlo.all_gather"(%{{.*}}) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "a">, #stablehlo.axis_ref<name = "b", sub_axis_info = (2)4>]>}> : (
  %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "a">, #stablehlo.axis_ref<name = "b", sub_axis_info = (2)4>]>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
  // CHECK: "stablehlo.reduce_scatter"(%{{.*}}) <{replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  %2 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x4xf32>
  // CHECK: "stablehlo.all_to_all"(%{{.*}}) <{concat_dimension = 1 : i64, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (
  %3 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<2x16xf32>
  // CHECK: "stablehlo.collective_permute"(%{{.*}}) <{source_target_pairs = dense<{{\[\[}}0, 1], [1, 0]]> : tensor<2x2xi64>}> : (
  %4 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// Operations that are not defined here pass the parser; the importer lists them.
// CHECK-LABEL: func @unknown
func.func @unknown(%x: tensor<4xf32>) {
  // CHECK: "stablehlo.of_tomorrow"(%{{.*}}) {level = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "stablehlo.of_tomorrow"(%x) {level = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
