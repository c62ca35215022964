// What is only read in 16 bits is stored in 16 bits.
// RUN: p3dc-opt %s -split-input-file -p3d-narrow-parameters | FileCheck %s

// Through a block, forward and backward, and behind a reshape. The gradient stays f32.
// CHECK-LABEL: graph.block @layer(
// CHECK-SAME: %[[X:.*]]: tensor<8x4xbf16>, %[[W:.*]]: tensor<4x6xbf16>)
// CHECK-NOT: graph.convert
// CHECK: graph.einsum "ab,bc->ac" %[[X]], %[[W]]
graph.block @layer(%x: tensor<8x4xbf16>, %w: tensor<4x6xf32>) -> tensor<8x6xbf16> {
  %b = graph.convert %w : (tensor<4x6xf32>) -> tensor<4x6xbf16>
  %h = graph.einsum "ab,bc->ac" %x, %b : (tensor<8x4xbf16>, tensor<4x6xbf16>) -> tensor<8x6xbf16>
  graph.yield %h : tensor<8x6xbf16>
}
// CHECK: graph.program @loss(
// CHECK-SAME: %[[W:.*]]: tensor<4x6xbf16>
// CHECK-SAME: %[[V:.*]]: tensor<12xbf16>
// CHECK: %[[H:.*]] = graph.call @layer(%{{.*}}, %[[W]])
// CHECK: %[[R:.*]] = graph.reshape %[[V]] : (tensor<12xbf16>) -> tensor<6x2xbf16>
// CHECK: graph.einsum "ab,bc->ac" %[[H]], %[[R]]
// CHECK: graph.update "adamw" %[[W]], %{{.*}} : tensor<4x6xbf16>, tensor<4x6xf32>
graph.program @loss(%w: tensor<4x6xf32> {graph.role = "param"}, %v: tensor<12xf32> {graph.role = "param"}, %x: tensor<8x4xbf16> {graph.role = "input"},
                    %g: tensor<4x6xf32> {graph.role = "input"}, %k: tensor<12xf32> {graph.role = "input"}) -> tensor<8x2xbf16> {
  %h = graph.call @layer(%x, %w) : (tensor<8x4xbf16>, tensor<4x6xf32>) -> tensor<8x6xbf16>
  %r = graph.reshape %v : (tensor<12xf32>) -> tensor<6x2xf32>
  %b = graph.convert %r : (tensor<6x2xf32>) -> tensor<6x2xbf16>
  %y = graph.einsum "ab,bc->ac" %h, %b : (tensor<8x6xbf16>, tensor<6x2xbf16>) -> tensor<8x2xbf16>
  graph.update "adamw" %w, %g : tensor<4x6xf32>, tensor<4x6xf32>
  graph.update "adamw" %v, %k : tensor<12xf32>, tensor<12xf32>
  graph.yield %y : tensor<8x2xbf16>
}

// -----

// Read in f32 too, in two types, by an update's gradient, and never updated: these stay. One call that keeps an argument wide keeps it for all.
// CHECK-LABEL: graph.block @half(%{{.*}}: tensor<4xf32>)
graph.block @half(%w: tensor<4xf32>) -> tensor<4xbf16> {
  %b = graph.convert %w : (tensor<4xf32>) -> tensor<4xbf16>
  graph.yield %b : tensor<4xbf16>
}
// CHECK: graph.program @loss(%{{.*}}: tensor<4xf32> {{.*}}, %{{.*}}: tensor<4xf32> {{.*}}, %{{.*}}: tensor<4xf32> {{.*}}, %{{.*}}: tensor<4xf32> {{.*}}, %{{.*}}: tensor<4xf32>
graph.program @loss(%both: tensor<4xf32> {graph.role = "param"}, %types: tensor<4xf32> {graph.role = "param"}, %frozen: tensor<4xf32> {graph.role = "frozen"},
                    %shared: tensor<4xf32> {graph.role = "param"}, %g: tensor<4xf32> {graph.role = "input"}) -> tensor<4xbf16> {
  %0 = graph.convert %both : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = graph.neg %both : tensor<4xf32>
  %2 = graph.convert %types : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = graph.convert %types : (tensor<4xf32>) -> tensor<4xf16>
  %4 = graph.convert %frozen : (tensor<4xf32>) -> tensor<4xbf16>
  %5 = graph.call @half(%shared) : (tensor<4xf32>) -> tensor<4xbf16>
  %6 = graph.call @half(%1) : (tensor<4xf32>) -> tensor<4xbf16>
  graph.update "adamw" %both, %g : tensor<4xf32>, tensor<4xf32>
  graph.update "adamw" %types, %g : tensor<4xf32>, tensor<4xf32>
  graph.update "adamw" %shared, %g : tensor<4xf32>, tensor<4xf32>
  graph.yield %0 : tensor<4xbf16>
}
