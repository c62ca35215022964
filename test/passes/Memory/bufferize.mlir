// Blocks become functions and stages programs: element-wise operations are fused, results are made where they are wanted.
// RUN: p3dc-opt %s -p3d-bufferize | FileCheck %s

module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 1, mb = 2>} {
  // The sum and gelu are one kernel; the saved argument is no memory of the function.
  // CHECK-LABEL: exec.function @layer
  // CHECK-SAME: (%[[X:.*]]: memref<4x8xf32>, %[[W:.*]]: memref<8x8xf32>, %[[B:.*]]: memref<8xf32>, %[[Y:.*]]: memref<4x8xf32>)
  // CHECK-SAME: outs = 1
  // CHECK: %[[H:.*]] = exec.temporary : memref<4x8xf32>
  // CHECK-NEXT: exec.einsum "bd,df->bf"(%[[X]], %[[W]]) -> (%[[H]])
  // CHECK-NEXT: exec.launch @[[GELU:.*]](%[[H]], %[[B]]) -> (%[[Y]])
  // CHECK-NEXT: exec.all_reduce sum %[[Y]] over tp 0 of f32 why "row-parallel"
  // CHECK-NEXT: }
  graph.block @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    %h = graph.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %bb = graph.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %s = graph.add %h, %bb : tensor<4x8xf32>
    %a = graph.gelu tanh %s : tensor<4x8xf32>
    %r = dist.all_reduce sum %a over tp why "row-parallel" : tensor<4x8xf32>
    graph.yield %r, %x : tensor<4x8xf32>, tensor<4x8xf32>
  }

  // CHECK-LABEL: exec.program @stage0
  pipe.stage @stage0 index 0 layers [0, 0] attributes {slots = array<i64: 2>, order = ["F0", "F1"]} {
    pipe.buffer parameter @w : tensor<8x8xf32> {graph.name = "params.w"}
    pipe.buffer parameter @b : tensor<8xf32>
    pipe.buffer input @in : tensor<8x8xf32>
    pipe.buffer activation @x : tensor<4x8xf32>
    pipe.buffer result @loss : tensor<f32>
    // CHECK: exec.task forward
    // CHECK-DAG: %[[XB:.*]] = exec.address @x :
    // CHECK-DAG: %[[IN:.*]] = exec.address @in :
    // CHECK: %[[MB:.*]] = exec.start [#dist<axis mb>] chunk 4
    // CHECK: %[[SLICE:.*]] = exec.view %[[IN]] from %[[MB]] times 8 : memref<8x8xf32> to memref<4x8xf32>
    // The block's result goes to a temporary, its saved argument is copied out of the input.
    // CHECK: %[[YT:.*]] = exec.temporary : memref<4x8xf32>
    // CHECK: exec.call @layer(%[[SLICE]], {{.*}}) -> (%[[YT]])
    // CHECK: exec.launch @kernel.reduce_sum(%[[YT]]) -> ({{.*}}) adds
    // CHECK: exec.launch @kernel.copy(%[[SLICE]]) -> (%[[XB]])
    pipe.task forward {
      %in = pipe.read @in : tensor<8x8xf32>
      %x = dist.shard_slice %in dim 0 over mb : (tensor<8x8xf32>) -> tensor<4x8xf32>
      %w = pipe.read @w : tensor<8x8xf32>
      %b = pipe.read @b : tensor<8xf32>
      %r:2 = graph.call @layer(%x, %w, %b) {layer = 0 : i64}
        : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
      %l = graph.reduce sum %r#0 dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
      pipe.accumulate %l into @loss : tensor<f32>
      pipe.write %r#1 to @x : tensor<4x8xf32>
    }
  }
}

// CHECK: func.func private @[[GELU]](%{{.*}}: memref<32xf32> {llvm.noalias}, %{{.*}}: memref<8xf32> {llvm.noalias}, %{{.*}}: memref<32xf32> {llvm.noalias})
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: math.exp
