// Annotations in all their forms become sdy.sharding over a mesh that is written out.
// RUN: split-file %s %t
// RUN: p3dc-opt %t/forms.mlir -split-input-file -verify-diagnostics -p3d-convert-to-graph | FileCheck %s
// RUN: not p3dc-opt %t/text.mlir -p3d-convert-to-graph 2>&1 | FileCheck %s --check-prefix=TEXT

//--- text.mlir
// TEXT: text.mlir:2:17: error: has an xla.sdy.sharding that cannot be read
func.func @main(%x: tensor<8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "columns"}}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

//--- forms.mlir

sdy.mesh @mesh = <["data"=2, "model"=4]>
// CHECK-LABEL: graph.program @loss
// CHECK-SAME: graph.user_sharding = #sdy.sharding<mesh<["data"=2, "model"=4]>, [{"data"}, {?}]>
// CHECK: graph.tanh
// CHECK-NEXT: graph.constrain {{.*}} as #sdy.sharding<mesh<["data"=2, "model"=4]>, [{"data"}, {"model"}]>
// CHECK-NEXT: %[[R:.*]] = graph.constrain {{.*}} as #sdy.sharding<mesh<["data"=2, "model"=4]>, [{?}, {}]>
// CHECK-NEXT: graph.yield %[[R]]
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}) {
  %0 = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}]>]>} : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// GSPMD: an axis is called by its size and the distance of its devices. What nobody annotated is replicated; a constraint means it.
// CHECK-LABEL: graph.program @loss(%arg0: tensor<8x16xf32>
// CHECK-SAME: graph.user_sharding = #sdy.sharding<mesh<["2x4"=2]>, [{"2x4"}, {}]>
// CHECK-SAME: %arg1: tensor<16x4xf32>
// CHECK-SAME: graph.user_sharding = #sdy.sharding<mesh<["4x1"=4]>, [{}, {"4x1"}]>
// CHECK-SAME: %arg2: tensor<4xf32>
// CHECK-NOT: user_sharding
// CHECK: graph.constrain %arg2 : tensor<4xf32> as #sdy.sharding<mesh<[]>, [{}]>
// CHECK: graph.constrain %arg0 {{.*}} as #sdy.sharding<mesh<["2x4"=2, "4x1"=4]>, [{"2x4"}, {"4x1"}]>
// CHECK: graph.constrain %arg1 {{.*}} as #sdy.sharding<mesh<["4x2"=4, "2x1"=2]>, [{"4x2"}, {"2x1"}]>
func.func @main(%x: tensor<8x16xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}, %w: tensor<16x4xf32> {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"},
                %b: tensor<4xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4xf32>, tensor<8x16xf32>, tensor<16x4xf32>) {
  %0 = stablehlo.custom_call @Sharding(%b) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2,4]<=[8]}"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = stablehlo.custom_call @Sharding(%w) {mhlo.sharding = "{devices=[4,2]0,1,2,3,4,5,6,7}"} : (tensor<16x4xf32>) -> tensor<16x4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<8x16xf32>, tensor<16x4xf32>
}

// -----

// Behind a round trip through HLO, as torch-xla prints it.
// CHECK-LABEL: graph.program @loss
// CHECK-SAME: graph.user_sharding = #sdy.sharding<mesh<["_axis_0"=2]>, [{}, {"_axis_0"}]>
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22_axis_0\22=2]>}"}} {
  func.func @main(%x: tensor<8x16xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{}, {\22_axis_0\22}]>"}}) -> tensor<8x16xf32> {
    return %x : tensor<8x16xf32>
  }
}

// -----

func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@none, [{"a"}]>}) -> tensor<8xf32> { // expected-error {{is annotated over @none, but the module has no sdy.mesh of that name}}
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32> {sdy.sharding = "columns"}) -> tensor<8xf32> { // expected-error {{has sdy.sharding = "columns", expected #sdy.sharding<@mesh, [..]>}}
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) -> tensor<8xf32> { // expected-error {{'mhlo.sharding = "{devices=[2,2]<=[4]}"' is no sharding of 1 dimensions; expected {devices=[TILES]<=[DEVICES]}, or an sdy.sharding}}
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{maximal device=0}"}) -> tensor<8xf32> { // expected-error {{'mhlo.sharding = "{maximal device=0}"' keeps a value on one device; p3dc runs every operation on all ranks: leave out the annotation}}
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{manual}"}) -> tensor<8xf32> { // expected-error {{'mhlo.sharding = "{manual}"': the module is partitioned already (by shard_map, pmap or another partitioner); export the loss function without it, in global shapes, and give the mesh to p3dc}}
  return %x : tensor<8xf32>
}
