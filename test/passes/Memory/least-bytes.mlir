// No plan needs less than what is alive at once somewhere in the step: an activation of a microbatch from the command that writes it to the last that reads it,
// a temporary in its task. Here both microbatches of @kept are alive when the second forward ends, and @made is needed for one microbatch at a time.
// RUN: p3dc-opt %s -p3d-plan-memory -p3d-verify-memory | FileCheck %s

func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }

// CHECK: exec.program @stage0 {{.*}} arena 320 {{.*}}exec.least_bytes = 256
exec.program @stage0 index 0 slots [2] attributes {order = ["F0", "F1", "B0", "B1"]} {
  exec.buffer input @in : memref<16xf32> of f32
  exec.buffer activation @kept : memref<16xf32> of f32
  exec.buffer activation @made : memref<16xf32> of f32
  // CHECK: exec.task forward scratch 0 at 256 attributes {exec.alive_bytes = 0 : i64}
  exec.task forward {
    %in = exec.address @in : memref<16xf32>
    %kept = exec.address @kept : memref<16xf32>
    %made = exec.address @made : memref<16xf32>
    exec.launch @kernel.neg(%in) -> (%kept) : (memref<16xf32>) -> memref<16xf32>
    exec.launch @kernel.neg(%kept) -> (%made) : (memref<16xf32>) -> memref<16xf32>
  }
  // CHECK: exec.task backward scratch 64 at 256 attributes {exec.alive_bytes = 64 : i64}
  exec.task backward {
    %in = exec.address @in : memref<16xf32>
    %kept = exec.address @kept : memref<16xf32>
    %t = exec.temporary : memref<16xf32>
    exec.launch @kernel.neg(%kept) -> (%t) : (memref<16xf32>) -> memref<16xf32>
    exec.launch @kernel.neg(%t) -> (%in) : (memref<16xf32>) -> memref<16xf32>
  }
}
