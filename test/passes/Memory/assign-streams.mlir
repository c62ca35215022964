// Events between computation and communication.
// RUN: p3dc-opt %s -p3d-assign-streams -p3d-verify-streams | FileCheck %s

// CHECK: module attributes {{.*}}exec.events = 13
module {
func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }

// Communication begins after the computation before it. Computation goes on beside it until it needs the result.
// CHECK-LABEL: exec.function @late
// CHECK: exec.launch
// CHECK-NEXT: exec.record 0 on compute
// CHECK-NEXT: exec.wait 0 on tp
// CHECK-NEXT: exec.all_reduce
// CHECK-NEXT: exec.record 1 on tp
// CHECK-NEXT: exec.launch @kernel.neg(%{{.*}}) -> (%[[Z:.*]])
// CHECK-NEXT: exec.wait 1 on compute
// CHECK-NEXT: exec.launch
exec.function @late(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>) attributes {outs = 2 : i64, scratch_bytes = 64 : i64} {
  %a = exec.temporary at 0 : memref<16xf32>
  exec.launch @kernel.neg(%x) -> (%a) : (memref<16xf32>) -> memref<16xf32>
  exec.all_reduce sum %a over tp 0 of f32 why "" : memref<16xf32>
  exec.launch @kernel.neg(%x) -> (%z) : (memref<16xf32>) -> memref<16xf32>
  exec.launch @kernel.neg(%a) -> (%y) : (memref<16xf32>) -> memref<16xf32>
}

// Two axes that reduce the same memory: the second stream waits for the first. At the end computation waits for what is left.
// CHECK-LABEL: exec.function @both
// CHECK: exec.record 2 on compute
// CHECK-NEXT: exec.wait 2 on tp
// CHECK-NEXT: exec.all_reduce
// CHECK-NEXT: exec.record 3 on tp
// CHECK-NEXT: exec.wait 3 on dp
// CHECK-NEXT: exec.wait 2 on dp
// CHECK-NEXT: exec.all_reduce
// CHECK-NEXT: exec.record 4 on dp
// CHECK-NEXT: exec.wait 3 on compute
// CHECK-NEXT: exec.wait 4 on compute
// CHECK-NEXT: }
exec.function @both(%x: memref<16xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  exec.all_reduce sum %x over tp 0 of f32 why "" : memref<16xf32>
  exec.all_reduce sum %x over dp 0 of f32 why "" : memref<16xf32>
}

// A transfer to a later stage; what waits for its end is the next use of the slot.
// CHECK-LABEL: exec.program @stage0
// CHECK: exec.record 5 on compute
// CHECK-NEXT: exec.wait 5 on forward
// CHECK-NEXT: exec.send
// CHECK-NEXT: exec.record 6 on forward
// CHECK-NEXT: }
exec.program @stage0 index 0 slots [1] arena 64 zero 0 at 0 {
  exec.slab @sent_forward sends 0 bytes 64 copies 1 at [0]
  exec.buffer activation @x in @sent_forward at 0 : memref<16xf32> of f32
  exec.task forward scratch 0 at 64 {
    %x = exec.address @x : memref<16xf32>
    exec.send %x to 1 channel 0 why "" : memref<16xf32>
  }
}

// The reduction of a gradient waits for the call that completes it, not for the whole task: it runs beside the layer before.
// CHECK-LABEL: exec.program @stage1
// CHECK: exec.task backward
// CHECK: exec.launch @kernel.neg(%{{.*}}) -> (%[[LATE:.*]]) adds
// CHECK-NEXT: exec.record 7 on compute
// CHECK-NEXT: exec.launch @kernel.neg(%{{.*}}) -> (%{{.*}}) adds
// CHECK-NEXT: exec.record 9 on compute
// CHECK: exec.task synchronize
// CHECK: exec.wait 7 on dp
// CHECK-NEXT: exec.all_reduce
// CHECK-NEXT: exec.record 8 on dp
// CHECK-NEXT: exec.wait 9 on dp
// CHECK-NEXT: exec.all_reduce
// CHECK-NEXT: exec.record 10 on dp
// CHECK-NEXT: exec.wait 8 on compute
// CHECK-NEXT: exec.wait 10 on compute
exec.program @stage1 index 1 slots [1] arena 192 zero 0 at 0 attributes {order = ["B0", "S"]} {
  exec.buffer gradient @late at 0 : memref<16xf32> of f32
  exec.buffer gradient @early at 64 : memref<16xf32> of f32
  exec.buffer input @x at 128 : memref<16xf32> of f32
  exec.task backward scratch 0 at 192 {
    %late = exec.address @late : memref<16xf32>
    %early = exec.address @early : memref<16xf32>
    %x = exec.address @x : memref<16xf32>
    exec.launch @kernel.neg(%x) -> (%late) adds : (memref<16xf32>) -> memref<16xf32>
    exec.launch @kernel.neg(%x) -> (%early) adds : (memref<16xf32>) -> memref<16xf32>
  }
  exec.task synchronize scratch 0 at 192 {
    %late = exec.address @late : memref<16xf32>
    %early = exec.address @early : memref<16xf32>
    exec.all_reduce sum %late over dp 0 of f32 why "" : memref<16xf32>
    exec.all_reduce sum %early over dp 0 of f32 why "" : memref<16xf32>
  }
}

// What is received into a buffer of its own waits for the buffer's last use, which was in this task for the microbatch before: it comes while the tasks between run.
// CHECK-LABEL: exec.program @stage2
// CHECK: exec.task backward
// CHECK: exec.wait [[LAST:[0-9]+]] on backward
// CHECK-NEXT: exec.recv
// CHECK-NEXT: exec.record [[HERE:[0-9]+]] on backward
// CHECK-NEXT: exec.wait [[HERE]] on compute
// CHECK-NEXT: exec.launch @kernel.neg
// CHECK-NEXT: exec.record [[LAST]] on compute
// CHECK-NEXT: exec.launch @kernel.neg
// CHECK-NEXT: }
exec.program @stage2 index 2 slots [1] arena 320 zero 0 at 0 attributes {order = ["B0", "B1"]} {
  exec.buffer receive @recv.0.backward at 0 : memref<16xf32> of f32
  exec.buffer complete @x at 64 : memref<16xf32> of f32
  exec.buffer complete @y at 128 : memref<16xf32> of f32
  exec.task backward scratch 0 at 320 {
    %in = exec.address @recv.0.backward : memref<16xf32>
    %x = exec.address @x : memref<16xf32>
    %y = exec.address @y : memref<16xf32>
    exec.recv %in from 3 channel 0 why "" : memref<16xf32>
    exec.launch @kernel.neg(%in) -> (%x) : (memref<16xf32>) -> memref<16xf32>
    exec.launch @kernel.neg(%x) -> (%y) : (memref<16xf32>) -> memref<16xf32>
  }
}
}
