// Each stage gets its order and the slots that it needs.
// RUN: p3dc-opt %s -p3d-schedule-stages -p3d-verify-schedule | FileCheck %s
// RUN: p3dc-opt %s -p3d-schedule-stages=schedule=gpipe -p3d-verify-schedule | FileCheck %s --check-prefix=GPIPE
// RUN: not p3dc-opt %s -p3d-schedule-stages=schedule=2f2b 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not p3dc-opt %s -p3d-schedule-stages=schedule=zb-h1 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/layers .0, 0./layers [0, 0, 2, 2]/; s/layers .1, 1./layers [1, 1, 3, 3]/' %s > %t && not p3dc-opt %t -p3d-schedule-stages 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: p3dc-opt %s "-p3d-schedule-stages=orders='F0 F1 F2 B0 B1 B2;F0 B0 F1 F2 B1 B2'" -p3d-verify-schedule | FileCheck %s --check-prefix=WRITTEN
// RUN: not p3dc-opt %s "-p3d-schedule-stages=orders='F0 B0;F0 X0'" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not p3dc-opt %s -p3d-verify-schedule 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: pipe.stage @stage0 {{.*}}order = ["P", "F0", "F1", "B0", "F2", "B1", "B2", "S", "U"], slots = array<i64: 2>
// CHECK: pipe.stage @stage1 {{.*}}order = ["F0", "B0", "F1", "B1", "F2", "B2", "U"], slots = array<i64: 1>
// GPIPE: pipe.stage @stage0 {{.*}}order = ["P", "F0", "F1", "F2", "B0", "B1", "B2", "S", "U"], slots = array<i64: 3>
// UNKNOWN: error: schedule '2f2b' is not known; expected one of 1f1b, auto, gpipe
// SPLIT: error: schedule 'zb-h1' is for stages whose backward pass is split, and that of these is whole; cut them for this schedule
// CHUNKS: error: schedule '1f1b' is for stages of 1 chunks, and these have 2; cut them for this schedule
// WRITTEN: pipe.stage @stage1 {{.*}}order = ["F0", "B0", "F1", "F2", "B1", "B2", "U"], slots = array<i64: 2>
// WORD: error: option 'orders': found 'X0', expected an action like F0
// NONE: error: 'pipe.stage' op has no order; schedule it first
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 3>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.buffer activation @x : tensor<2xf32>
    pipe.task prologue {
    }
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<2xf32>
      pipe.write %0 to @x : tensor<2xf32>
      pipe.send %0 to 1 channel 0 : tensor<2xf32>
    }
    pipe.task backward {
      %0 = pipe.recv from 1 channel 1 : tensor<2xf32>
    }
    pipe.task synchronize {
    }
    pipe.task update {
    }
  }
  pipe.stage @stage1 index 1 layers [1, 1] {
    pipe.task forward {
      %0 = pipe.recv from 0 channel 0 : tensor<2xf32>
    }
    pipe.task backward {
      %0 = graph.constant dense<1.0> : tensor<2xf32>
      pipe.send %0 to 0 channel 1 : tensor<2xf32>
    }
    pipe.task update {
    }
  }
}
