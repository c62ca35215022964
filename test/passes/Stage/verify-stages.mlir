// One case for each constraint between stages.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-verify-stages

// C1
// expected-error @+1 {{has 1 stages, but its mesh has pp = 2}}
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
  }
}

// -----

// C2: a stage begins where another ends.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  graph.block @layer() {
    graph.yield
  }
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.task forward {
      graph.call @layer() {layer = 0} : () -> ()
    }
  }
  // expected-error @+1 {{begins with layer 2, expected layer 1}}
  pipe.stage @stage1 index 1 layers [2, 2] {
    pipe.task forward {
      graph.call @layer() {layer = 2} : () -> ()
    }
  }
}

// -----

// C2: the layer is nowhere.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  // expected-error @+1 {{and the stages after it lack layer 0}}
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.task forward {
    }
  }
}

// -----

// C3: nobody receives.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<f32>
      // expected-error @+1 {{on channel 0 has no receive}}
      pipe.send %0 to 1 channel 0 : tensor<f32>
    }
  }
  pipe.stage @stage1 index 1 layers [0, -1] {
    pipe.task forward {
    }
  }
}

// -----

// C3: types differ.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<f32>
      pipe.send %0 to 1 channel 0 : tensor<f32>
    }
  }
  pipe.stage @stage1 index 1 layers [0, -1] {
    pipe.task forward {
      // expected-error @+1 {{is of type 'tensor<2xf32>', but stage 0 sends 'tensor<f32>'}}
      %0 = pipe.recv from 0 channel 0 : tensor<2xf32>
    }
  }
}

// -----

// C3: a forward value goes back.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.task forward {
      %0 = pipe.recv from 1 channel 0 : tensor<f32>
    }
  }
  pipe.stage @stage1 index 1 layers [0, -1] {
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<f32>
      // expected-error @+1 {{goes from stage 1 to stage 0 in a forward task, against the pipeline}}
      pipe.send %0 to 0 channel 0 : tensor<f32>
    }
  }
}

// -----

// C4: the activation is never written.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.buffer activation @a : tensor<f32>
    pipe.task forward {
    }
    pipe.task backward {
      // expected-error @+1 {{reads 'a', which no task writes}}
      %0 = pipe.read @a : tensor<f32>
    }
  }
}

// -----

// C4: the task of weight gradients is too late to keep an activation.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.buffer activation @a : tensor<f32>
    pipe.task forward {
    }
    pipe.task weight_gradient {
      %0 = graph.constant dense<1.0> : tensor<f32>
      // expected-error @+1 {{stands in a weight_gradient task; complete buffers are written by the prologue, activations by the forward and the backward task}}
      pipe.write %0 to @a : tensor<f32>
    }
  }
}

// -----

// C4: the forward task comes before the backward one.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.buffer activation @a : tensor<f32>
    pipe.task forward {
      // expected-error @+1 {{reads 'a', which the backward task of chunk 0 writes, in the forward task of chunk 0, which does not come after it in the slot of chunk 0}}
      %0 = pipe.read @a : tensor<f32>
    }
    pipe.task backward {
      %0 = graph.constant dense<1.0> : tensor<f32>
      pipe.write %0 to @a : tensor<f32>
    }
  }
}

// -----

// C4: a value goes from the first chunk to the second in the forward pass, and against that here.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1, 0, -1] {
    pipe.buffer activation @a : tensor<f32> {pipe.chunk = 1 : i64}
    pipe.task forward {
      // expected-error @+1 {{reads 'a', which the forward task of chunk 1 writes, in the forward task of chunk 0, which does not come after it in the slot of chunk 1}}
      %0 = pipe.read @a : tensor<f32>
    }
    pipe.task forward chunk 1 {
      %0 = graph.constant dense<1.0> : tensor<f32>
      pipe.write %0 to @a : tensor<f32>
    }
  }
}

// -----

// C2: the second chunk has no forward task.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  // expected-error @+1 {{has no forward task of chunk 1}}
  pipe.stage @stage0 index 0 layers [0, -1, 0, -1] {
    pipe.task forward {
    }
  }
}

// -----

// C2: the stages are not alike.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
  }
  // expected-error @+1 {{has 2 chunks, but the first stage has 1}}
  pipe.stage @stage1 index 1 layers [0, -1, 0, -1] {
  }
}

// -----

// C5: the copy of a tied parameter does not know of the other.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.buffer parameter @p : tensor<f32>
    // expected-error @+1 {{has a copy in stage 1, which 'pipe.tied_stages' does not name}}
    pipe.buffer gradient @g : tensor<f32> {pipe.of = @p}
    pipe.task forward {
    }
  }
  pipe.stage @stage1 index 1 layers [0, -1] {
    pipe.buffer parameter @p : tensor<f32>
    pipe.buffer gradient @g : tensor<f32> {pipe.of = @p}
    pipe.task forward {
    }
  }
}

// -----

// C1: a program is left.
module {
  // expected-error @+1 {{'graph.program' op is left after the cut into stages}}
  graph.program @loss() {
    graph.yield
  }
}

// -----

// C1: stages are numbered from 0.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  // expected-error @+1 {{has index 1, expected 0}}
  pipe.stage @stage1 index 1 layers [0, -1] {
  }
}

// -----

// C2
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  // expected-error @+1 {{has no forward task}}
  pipe.stage @stage0 index 0 layers [0, -1] {
  }
}

// -----

// C2: a layer of another stage.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer() {
    graph.yield
  }
  pipe.stage @stage0 index 0 layers [0, 0] {
    pipe.task forward {
      // expected-error @+1 {{is layer 1, but its stage holds [0, 0]}}
      graph.call @layer() {layer = 1} : () -> ()
    }
  }
}

// -----

// C3: two transfers of one name.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<f32>
      pipe.send %0 to 1 channel 0 : tensor<f32>
      // expected-error @+1 {{uses a channel that another one has; a channel names one transfer}}
      pipe.send %0 to 1 channel 0 : tensor<f32>
    }
  }
  pipe.stage @stage1 index 1 layers [0, -1] {
    pipe.task forward {
    }
  }
}

// -----

// C3: nobody sends.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.task forward {
    }
  }
  pipe.stage @stage1 index 1 layers [0, -1] {
    pipe.task forward {
      // expected-error @+1 {{on channel 0 has no send}}
      %0 = pipe.recv from 0 channel 0 : tensor<f32>
    }
  }
}

// -----

// C3: the two ends name different tasks.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<f32>
      // expected-error @+1 {{on channel 0 goes to the forward task of stage 1}}
      pipe.send %0 to 1 channel 0 : tensor<f32>
    }
  }
  pipe.stage @stage1 index 1 layers [0, -1] {
    pipe.task forward {
    }
    pipe.task backward {
      // expected-note @+1 {{its receive expects it from stage 0 in the backward task of stage 1}}
      %0 = pipe.recv from 0 channel 0 : tensor<f32>
    }
  }
}

// -----

// C4
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.buffer activation @a : tensor<f32>
    pipe.task forward {
      %0 = graph.constant dense<1.0> : tensor<f32>
      pipe.write %0 to @a : tensor<f32>
      // expected-error @+1 {{is the second write to 'a'}}
      pipe.write %0 to @a : tensor<f32>
    }
  }
}

// -----

// C5: the other stage has no copy.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, -1] {
    pipe.buffer parameter @p : tensor<f32>
    // expected-error @+1 {{lacks a copy in stage 1, which 'pipe.tied_stages' names}}
    pipe.buffer gradient @g : tensor<f32> {pipe.of = @p, pipe.tied_stages = array<i64: 0, 1>}
    pipe.task forward {
    }
  }
  pipe.stage @stage1 index 1 layers [0, -1] {
    pipe.task forward {
    }
  }
}
