// Each case has an order that cannot run.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-schedule

// C2: the stage has an update task.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  // expected-error @+1 {{has order ["F0", "B0"], expected P first, S and U last, each for a task of the stage, and between them actions such as F0 and B0}}
  pipe.stage @stage0 index 0 layers [0, 0] attributes {order = ["F0", "B0"], slots = array<i64: 1>} {
    pipe.task update {
    }
  }
}

// -----

// C3: the slots are too few.
// expected-error @+1 {{stage 0: F1 takes slot 0 of 1 while microbatch 0 is alive in it}}
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 2>} {
  pipe.stage @stage0 index 0 layers [0, 0] attributes {order = ["F0", "F1", "B0", "B1"], slots = array<i64: 1>} {
  }
}

// -----

// C3: stage 0 waits for a gradient that stage 1 computes only after the next forward.
// expected-error @+1 {{the schedule deadlocks: stage 0 at B0 waits for B0 of stage 1, stage 1 at F1 waits for F1 of stage 0}}
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 2>} {
  pipe.stage @stage0 index 0 layers [0, 0] attributes {order = ["F0", "B0", "F1", "B1"], slots = array<i64: 1>} {
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<2xf32>
      pipe.send %0 to 1 channel 0 : tensor<2xf32>
    }
    pipe.task backward {
      %0 = pipe.recv from 1 channel 1 : tensor<2xf32>
    }
  }
  pipe.stage @stage1 index 1 layers [1, 1] attributes {order = ["F0", "F1", "B0", "B1"], slots = array<i64: 2>} {
    pipe.task forward {
      %0 = pipe.recv from 0 channel 0 : tensor<2xf32>
    }
    pipe.task backward {
      %0 = graph.constant dense<1.0> : tensor<2xf32>
      pipe.send %0 to 0 channel 1 : tensor<2xf32>
    }
  }
}

// -----

// C1
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  // expected-error @+1 {{has 0 slots, expected at least one}}
  pipe.stage @stage0 index 0 layers [0, 0] attributes {order = ["F0", "B0"], slots = array<i64: 0>} {
  }
}

// -----

// C3: stage 0 has one slot, whose value stage 1 takes only after the next.
// expected-error @+1 {{the schedule deadlocks: stage 0 at F1 waits for stage 1 to receive what F0 sent, stage 1 at F1 waits for F1 of stage 0}}
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 2>} {
  pipe.stage @stage0 index 0 layers [0, 0] attributes {order = ["F0", "B0", "F1", "B1"], slots = array<i64: 1>} {
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<2xf32>
      pipe.send %0 to 1 channel 0 : tensor<2xf32>
    }
  }
  pipe.stage @stage1 index 1 layers [1, 1] attributes {order = ["F1", "B1", "F0", "B0"], slots = array<i64: 1>} {
    pipe.task forward {
      %0 = pipe.recv from 0 channel 0 : tensor<2xf32>
    }
  }
}

// -----

// C1: one number for two chunks.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  // expected-error @+1 {{has slots for 1 chunks, expected 2}}
  pipe.stage @stage0 index 0 layers [0, 0, 1, 1] attributes {order = ["F0", "F0.1", "B0.1", "B0"], slots = array<i64: 1>} {
  }
}
