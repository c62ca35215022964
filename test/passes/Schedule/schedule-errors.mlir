// Stages that no order can run: each forward task waits for the other.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-schedule-stages

// expected-error @+1 {{schedule '1f1b' cannot run these stages: the schedule deadlocks: stage 0 at F0 waits for F0 of stage 1, stage 1 at F0 waits for F0 of stage 0}}
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.task forward {
      %0 = pipe.recv from 1 channel 1 : tensor<f32>
      pipe.send %0 to 1 channel 0 : tensor<f32>
    }
  }
  pipe.stage @stage1 index 1 layers [1, 1] {
    pipe.task forward {
      %0 = pipe.recv from 0 channel 0 : tensor<f32>
      pipe.send %0 to 0 channel 1 : tensor<f32>
    }
  }
}

// -----

// expected-error @below {{has no 'dist.mesh'}}
module {
}
