// Locations as exporters print them, with ranges that only newer MLIR knows, and the banner of a dump.
// RUN: p3dc-opt %s --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
------------------ MLIR MODULE ------------------
#loc1 = loc("x.py":10:4 to :12)
#loc2 = loc("x.py":10:4 to 11:7)
// CHECK-LABEL: func @main
// CHECK-SAME: loc("params['w to :3']")
func.func @main(%x: tensor<2x3xf32> loc("params['w to :3']"), %zero: tensor<f32>) -> tensor<2xf32> {
  // The location of the short form comes after its types and is the location of its region as well.
  // CHECK: stablehlo.reduce{{.*}} loc("sum"("x.py":10:4))
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32> loc("sum"(#loc1))
  // CHECK: stablehlo.negate{{.*}} loc("x.py":10:4)
  %1 = stablehlo.negate %0 : tensor<2xf32> loc(#loc2)
  // CHECK: stablehlo.negate{{.*}} loc(callsite("late" at "y.py":3:1))
  %2 = stablehlo.negate %1 : tensor<2xf32> loc(#loc3)
  // CHECK: stablehlo.sqrt{{.*}} {file = "a.py\22:1:2 to :3"}
  %3 = stablehlo.sqrt %2 {file = "a.py\":1:2 to :3"} : tensor<2xf32> loc(unknown)
  return %3 : tensor<2xf32>
}
#loc3 = loc(callsite("late" at "y.py":3:1 to :9))
------------------ END OF MLIR MODULE ------------------
