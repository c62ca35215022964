// RUN: p3dc-opt %s -p3d-differentiate | FileCheck %s

// The documented example: each block becomes a forward half that also returns what it saves, and a backward half.
// The argument %x is passed again rather than saved.

// CHECK: graph.block @layer.fwd(%[[X:.*]]: tensor<8x16xf32>, %[[UP:.*]]: tensor<16x64xf32>, %[[DOWN:.*]]: tensor<64x16xf32>)
// CHECK-SAME: attributes {graph.saves = 2 : i64}
// CHECK: %[[H:.*]] = graph.einsum "bd,df->bf" %[[X]], %[[UP]] {graph.id = 0 : i64}
// CHECK: %[[A:.*]] = graph.gelu tanh %[[H]] {graph.id = 1 : i64}
// CHECK: %[[O:.*]] = graph.einsum "bf,fd->bd" %[[A]], %[[DOWN]]
// CHECK: %[[Y:.*]] = graph.add %[[X]], %[[O]]
// CHECK: graph.yield %[[Y]], %[[H]], %[[A]]

// CHECK: graph.block @layer.bwd(%[[DY:[^:]*]]: tensor<8x16xf32>, %[[X:[^:]*]]: tensor<8x16xf32>, %[[UP:[^:]*]]: tensor<16x64xf32>,
// CHECK-SAME: %[[DOWN:[^:]*]]: tensor<64x16xf32>, %[[H:[^:]*]]: tensor<8x64xf32>, %[[A:[^:]*]]: tensor<8x64xf32>)
// CHECK-SAME: attributes {graph.backward_of = @layer.fwd}
// CHECK: %[[DA:.*]] = graph.einsum "bd,fd->bf" %[[DY]], %[[DOWN]] {graph.grad_role = "input_grad", graph.of = 2 : i64}
// CHECK: %[[DDOWN:.*]] = graph.einsum "bd,bf->fd" %[[DY]], %[[A]] {graph.grad_role = "weight_grad", graph.of = 2 : i64}
// CHECK: %[[DH:.*]] = graph.gelu_grad tanh %[[DA]], %[[H]] {graph.grad_role = "input_grad", graph.of = 1 : i64}
// CHECK: %[[DX:.*]] = graph.einsum "bf,df->bd" %[[DH]], %[[UP]]
// CHECK: %[[SUM:.*]] = graph.add %[[DY]], %[[DX]]
// CHECK: %[[DUP:.*]] = graph.einsum "bf,bd->df" %[[DH]], %[[X]]
// CHECK: graph.yield %[[SUM]], %[[DUP]], %[[DDOWN]]

// The program calls forward in order and backward in reverse, with what each call saved.
// CHECK: graph.program @loss(%[[UP0:[^:]*]]: tensor<16x64xf32>
// CHECK-SAME: tensor<f32> {graph.name = "loss"}, tensor<16x64xf32> {graph.name = "grads.l0.up"}
// CHECK: %[[F0:.*]]:3 = graph.call @layer.fwd({{.*}} {graph.id = 0 : i64, layer = 0 : i64}
// CHECK: %[[F1:.*]]:3 = graph.call @layer.fwd(%[[F0]]#0
// CHECK: %[[B1:.*]]:3 = graph.call @layer.bwd({{.*}}, %[[F0]]#0, {{.*}}, %[[F1]]#1, %[[F1]]#2) {{.*}}graph.of = 1 : i64, layer = 1 : i64
// CHECK: %[[B0:.*]]:3 = graph.call @layer.bwd(%[[B1]]#0
// CHECK: graph.update "adamw" %[[UP0]], %[[B0]]#1 {decay}
// CHECK: graph.yield %{{.*}}, %[[B0]]#1, %[[B0]]#2, %[[B1]]#1, %[[B1]]#2
// CHECK-NOT: graph.block @layer(

graph.block @layer(%x: tensor<8x16xf32>, %up: tensor<16x64xf32>, %down: tensor<64x16xf32>) -> tensor<8x16xf32> {
  %h = graph.einsum "bd,df->bf" %x, %up : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %a = graph.gelu tanh %h : tensor<8x64xf32>
  %o = graph.einsum "bf,fd->bd" %a, %down : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %y = graph.add %x, %o : tensor<8x16xf32>
  graph.yield %y : tensor<8x16xf32>
}

graph.program @loss(%up0: tensor<16x64xf32> {graph.name = "params.l0.up", graph.role = "param"},
                    %down0: tensor<64x16xf32> {graph.name = "params.l0.down", graph.role = "param"},
                    %up1: tensor<16x64xf32> {graph.name = "params.l1.up", graph.role = "param"},
                    %down1: tensor<64x16xf32> {graph.name = "params.l1.down", graph.role = "param"},
                    %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input"},
                    %t: tensor<8x16xf32> {graph.name = "batch.t", graph.role = "input"},
                    %mask: tensor<8xf32> {graph.name = "batch.mask", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
  %y0 = graph.call @layer(%x, %up0, %down0) {layer = 0 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %y1 = graph.call @layer(%y0, %up1, %down1) {layer = 1 : i64} : (tensor<8x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %e = graph.sub %y1, %t : tensor<8x16xf32>
  %e2 = graph.mul %e, %e : tensor<8x16xf32>
  %s = graph.einsum "bd,b->" %e2, %mask : (tensor<8x16xf32>, tensor<8xf32>) -> tensor<f32>
  %n = graph.reduce sum %mask dims [0] : (tensor<8xf32>) -> tensor<f32>
  %l = graph.div %s, %n : tensor<f32>
  graph.yield %l : tensor<f32>
}
