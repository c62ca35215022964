// RUN: p3dc-opt %s -p3d-differentiate | FileCheck %s

// What is kept: the operands of the second contraction, the scores under the mask, which the exponentials follow from, and the row's statistic.
// The mask's selection and the conversion of %w are computed again from arguments. %mask has no gradient.

// CHECK: graph.block @layer.fwd({{.*}}attributes {graph.saves = 4 : i64}
// CHECK: %[[Q:.*]] = graph.slice
// CHECK: %[[K:.*]] = graph.slice
// CHECK: %[[M:.*]] = graph.select
// CHECK: %[[TOP:.*]] = graph.reduce max %[[M]]
// CHECK: %[[E:.*]] = graph.exp
// CHECK: graph.yield %[[E]], %[[Q]], %[[K]], %[[M]], %[[TOP]] :

// CHECK: graph.block @layer.bwd(%{{[^:]*}}: tensor<8x8xf32>, %[[X:[^:]*]]: tensor<8x16xf32>, %[[W:[^:]*]]: tensor<16x16xf32>, %[[MASK:[^:]*]]: tensor<8x8xi1>,
// CHECK-SAME: -> (tensor<8x16xf32>, tensor<16x16xf32>)
// CHECK: graph.exp
// CHECK: graph.select %[[MASK]]
// CHECK: graph.convert %[[W]] {graph.grad_role = "weight_grad", graph.of = 1 : i64}
graph.block @layer(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %mask: tensor<8x8xi1>) -> tensor<8x8xf32> {
  %xb = graph.convert %x : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  %wb = graph.convert %w : (tensor<16x16xf32>) -> tensor<16x16xbf16>
  %qk = graph.einsum "bd,df->bf" %xb, %wb : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
  %q = graph.slice %qk [0, 0] to [8, 8] step [1, 1] : (tensor<8x16xbf16>) -> tensor<8x8xbf16>
  %k = graph.slice %qk [0, 8] to [8, 16] step [1, 1] : (tensor<8x16xbf16>) -> tensor<8x8xbf16>
  %s = graph.einsum "bd,cd->bc" %q, %k : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>
  %low = graph.constant dense<0xFF800000> : tensor<8x8xf32>
  %m = graph.select %mask, %s, %low : (tensor<8x8xi1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %top = graph.reduce max %m dims [1] : (tensor<8x8xf32>) -> tensor<8xf32>
  %tops = graph.broadcast %top dims [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %d = graph.sub %m, %tops : tensor<8x8xf32>
  %e = graph.exp %d : tensor<8x8xf32>
  graph.yield %e : tensor<8x8xf32>
}

graph.program @loss(%p: tensor<8x16xf32> {graph.role = "param"}, %w: tensor<16x16xf32> {graph.role = "param"},
                    %mask: tensor<8x8xi1> {graph.role = "input"}) -> tensor<f32> {
  %y = graph.call @layer(%p, %w, %mask) : (tensor<8x16xf32>, tensor<16x16xf32>, tensor<8x8xi1>) -> tensor<8x8xf32>
  %l = graph.reduce sum %y dims [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  graph.yield %l : tensor<f32>
}
