// Where commands are only enqueued, what a task receives has memory of its own: it may come while other tasks run. What is kept of it, or sent on, is copied.
// RUN: p3dc-opt %s -p3d-bufferize=receives-ahead -p3d-plan-memory -p3d-verify-memory | FileCheck %s
// RUN: p3dc-opt %s -p3d-bufferize | FileCheck %s --check-prefix=BLOCKING

// CHECK-LABEL: exec.program @stage1
// CHECK: exec.buffer receive @recv.0.forward at {{[0-9]+}} : memref<4x8xf32>
// CHECK: exec.task forward
// CHECK-DAG: %[[IN:.*]] = exec.address @recv.0.forward
// CHECK-DAG: %[[KEPT:.*]] = exec.address @kept
// CHECK-DAG: %[[SENT:.*]] = exec.address @send.1.forward
// CHECK: exec.recv %[[IN]] from 0 channel 0
// CHECK: exec.launch @kernel.copy(%[[IN]]) -> (%[[KEPT]])
// CHECK: exec.launch @kernel.copy(%[[IN]]) -> (%[[SENT]])
// CHECK: exec.send %[[SENT]] to 2 channel 1

// BLOCKING-LABEL: exec.program @stage1
// BLOCKING-NOT: receive
// BLOCKING: %[[KEPT:.*]] = exec.address @kept
// BLOCKING: exec.recv %[[KEPT]] from 0
// BLOCKING-NEXT: exec.send %[[KEPT]] to 2
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 3, dp = 1, mb = 1>} {
  pipe.stage @stage1 index 1 layers [1, 1] attributes {slots = array<i64: 1>, order = ["F0"]} {
    pipe.buffer activation @kept : tensor<4x8xf32>
    pipe.task forward {
      %x = pipe.recv from 0 channel 0 : tensor<4x8xf32>
      pipe.write %x to @kept : tensor<4x8xf32>
      pipe.send %x to 2 channel 1 : tensor<4x8xf32>
    }
  }
}
