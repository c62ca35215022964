// One module for what all programs share, one per program: its tasks, their table, and the description for the runtime.
// RUN: p3dc-opt %S/Inputs/mlp.mlir -p3d-expand-named-ops -p3d-bufferize -p3d-plan-memory -p3d-verify-memory -p3d-lower | FileCheck %s

// CHECK-LABEL: module @common
// CHECK: llvm.mlir.global internal constant @constant_
// CHECK-DAG: llvm.func @kernel.gelu(%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias})
// CHECK-DAG: llvm.func @p3d_block.layer.fwd(%[[CTX:.*]]: !llvm.ptr, %[[X:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr
// CHECK-DAG: llvm.func @p3d_einsum(!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32)

// CHECK-LABEL: module @stage0
// CHECK: llvm.func @stage0.forward(%{{.*}}: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr, %[[MB:.*]]: i64, %[[SLOT:.*]]: i64)
// CHECK: llvm.call @p3d_block.layer.fwd(
// CHECK: llvm.func @stage0.synchronize
// The two gradients are neighbours and go in one message of 256 elements.
// CHECK: %[[COUNT:.*]] = llvm.mlir.constant(256 : i64)
// CHECK: llvm.call @p3d_all_reduce({{.*}}%[[COUNT]]
// CHECK: llvm.mlir.global external constant @p3d_tasks() {{.*}} : !llvm.array<3 x ptr>
// CHECK: llvm.mlir.global external constant @p3d_program("{
// CHECK-SAME: \22microbatches\22:2
// CHECK-SAME: \22order\22:[{{\[}}0,0,0],[1,0,0],[0,1,0],[1,1,0],[2,0,0]]
// CHECK-SAME: \22name\22:\22params.up\22
// CHECK-SAME: \22tasks\22:[\22forward\22,\22backward\22,\22synchronize\22]
