// Temporaries share bytes when their lives do not overlap; accumulators are neighbours; the optimizer's state is added.
// RUN: p3dc-opt %s -p3d-plan-memory -p3d-verify-memory | FileCheck %s
// The workspace of a device ends the arena, and what the runtime keeps there stands before it, at multiples of 256 bytes: two small pieces and two tables.
// RUN: p3dc-opt %s -p3d-plan-memory=workspace-bytes=1024 -p3d-verify-memory | FileCheck %s --check-prefix=WORKSPACE
// WORKSPACE: exec.workspace_bytes = 1024
// WORKSPACE: exec.program {{.*}} arena 2816 {{.*}}exec.runtime_bytes = 1024 : i64, exec.stream_scratch = array<i64: 0, 0>

func.func private @kernel.neg(%x: memref<16xf32>, %y: memref<16xf32>) { return }
func.func private @kernel.zero(%x: memref<16xf32>) { return }
func.func private @kernel.add(%x: memref<16xf32>, %y: memref<16xf32>) { return }

// CHECK-LABEL: exec.function @chain
// CHECK-SAME: scratch_bytes = 128
exec.function @chain(%x: memref<16xf32>, %y: memref<16xf32>) attributes {outs = 1 : i64} {
  // CHECK-DAG: %[[A:.*]] = exec.temporary at 0
  // CHECK-DAG: %[[B:.*]] = exec.temporary at 64
  // CHECK-DAG: %[[C:.*]] = exec.temporary at 0
  // CHECK: exec.launch @kernel.neg(%{{.*}}) -> (%[[A]])
  // CHECK: exec.launch @kernel.neg(%[[A]]) -> (%[[B]])
  // CHECK: exec.launch @kernel.neg(%[[B]]) -> (%[[C]])
  %a = exec.temporary : memref<16xf32>
  %b = exec.temporary : memref<16xf32>
  %c = exec.temporary : memref<16xf32>
  exec.launch @kernel.neg(%x) -> (%a) : (memref<16xf32>) -> memref<16xf32>
  exec.launch @kernel.neg(%a) -> (%b) : (memref<16xf32>) -> memref<16xf32>
  exec.launch @kernel.neg(%b) -> (%c) : (memref<16xf32>) -> memref<16xf32>
  exec.launch @kernel.neg(%c) -> (%y) : (memref<16xf32>) -> memref<16xf32>
}

// CHECK-LABEL: exec.program @stage0 index 0 slots [2]
// CHECK-SAME: arena 704 zero 128 at 256
exec.program @stage0 index 0 slots [2] {
  // CHECK: exec.buffer parameter @w at 0
  // CHECK: exec.buffer parameter @m.w at 64 : memref<16xf32> of f32 {exec.state = "m", exec.state_of = @w}
  // CHECK: exec.buffer parameter @v.w at 128 : memref<16xf32> of f32 {exec.state = "v", exec.state_of = @w}
  // CHECK: exec.buffer parameter @master.w at 192
  exec.buffer parameter @w : memref<16xbf16> of bf16
  // CHECK: exec.slab @kept_forward bytes 128 copies 1 at [384]
  // CHECK: exec.buffer activation @x in @kept_forward at 0
  exec.buffer activation @x : memref<16xf32> of f32
  // CHECK: exec.buffer activation @y in @kept_forward at 64
  exec.buffer activation @y : memref<16xf32> of f32
  // CHECK: exec.buffer result @loss at 320
  exec.buffer result @loss : memref<f32> of f32
  // CHECK: exec.buffer gradient @g.w at 256
  exec.buffer gradient @g.w : memref<16xf32> of f32
  // CHECK: exec.task forward scratch 192 at 512
  exec.task forward {
    %x = exec.address @x : memref<16xf32>
    %y = exec.address @y : memref<16xf32>
    %t = exec.temporary : memref<16xf32>
    exec.launch @kernel.zero() -> (%x) : () -> memref<16xf32>
    exec.launch @kernel.neg(%x) -> (%t) : (memref<16xf32>) -> memref<16xf32>
    // CHECK: exec.call @chain(%{{.*}}) -> (%{{.*}}) scratch
    exec.call @chain(%t) -> (%y) : (memref<16xf32>) -> memref<16xf32>
  }
  exec.task synchronize {
    %g = exec.address @g.w : memref<16xf32>
    exec.all_reduce sum %g over dp 0 of f32 why "gradients" : memref<16xf32>
  }
  exec.task update {
    exec.update "adamw" @w by @g.w
  }
}
