// One case for each constraint of a stage.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{has 1 entries in 'layers', expected [first, last] of each chunk}}
pipe.stage @stage0 index 0 layers [0] {
}

// -----

// C1
pipe.stage @stage0 index 0 layers [0, 0] {
  // expected-error @+1 {{stands in a pipe.stage, which holds buffers and tasks}}
  %0 = graph.constant dense<2.0> : tensor<f32>
}

// -----

// C1
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.task forward {
  }
  // expected-error @+1 {{is the second forward task of stage 0, chunk 0}}
  pipe.task forward {
  }
}

// -----

// C1
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.task forward {
  }
  // expected-error @+1 {{is of chunk 1, but stage 0 has 1 (two entries of 'layers' for each)}}
  pipe.task forward chunk 1 {
  }
}

// -----

// C2
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.task forward {
    // expected-error @+1 {{uses 'x', which is no buffer of stage 0}}
    %0 = pipe.read @x : tensor<f32>
  }
}

// -----

// C3
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.buffer input @x : tensor<4xf32>
  pipe.task forward {
    // expected-error @+1 {{has a value of type 'tensor<f32>', but buffer 'x' is of type 'tensor<4xf32>'}}
    %0 = pipe.read @x : tensor<f32>
  }
}

// -----

// C3
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.buffer result @loss : tensor<f32>
  pipe.task forward {
    %0 = graph.constant dense<2.0> : tensor<2xf32>
    // expected-error @+1 {{has a value of type 'tensor<2xf32>', but buffer 'loss' is of type 'tensor<f32>'}}
    pipe.accumulate %0 into @loss : tensor<2xf32>
  }
}

// -----

// C4
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.buffer input @x : tensor<f32>
  pipe.task forward {
    %0 = graph.constant dense<2.0> : tensor<f32>
    // expected-error @+1 {{uses 'x', a buffer of kind input, expected complete or activation}}
    pipe.write %0 to @x : tensor<f32>
  }
}

// -----

// C4
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.buffer input @x : tensor<f32>
  pipe.task synchronize {
    // expected-error @+1 {{uses 'x', a buffer of kind input, expected gradient or result}}
    pipe.synchronize [@x] over "dp" why "test"
  }
}

// -----

// C5
pipe.stage @stage0 index 0 layers [0, 0] {
  // expected-error @+1 {{is a gradient without 'pipe.of', the name of its parameter buffer}}
  pipe.buffer gradient @g : tensor<f32>
}

// -----

// C5
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.buffer parameter @p : tensor<4xf32>
  // expected-error @+1 {{has a value of type 'tensor<2xf32>', but buffer 'p' is of type 'tensor<4xf32>'}}
  pipe.buffer gradient @g : tensor<2xf32> {pipe.of = @p}
}

// -----

pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.task synchronize {
    // expected-error @+1 {{lists "loss", expected the name of a buffer}}
    pipe.synchronize ["loss"] over "dp" why "test"
  }
}

// -----

// C6
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.buffer parameter @p : tensor<64xf32>
  pipe.task update {
    // expected-error @+1 {{moves shares of 'p', which has none ('pipe.share')}}
    pipe.gather_shares [@p] over "dp" why "test"
  }
}

// -----

// C6
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.buffer parameter @p : tensor<32xf32> {pipe.holds_share, pipe.share = #pipe.share<32 of @p from 0>}
  pipe.task update {
    // expected-error @+1 {{moves shares of 'p', which holds no more than one}}
    pipe.gather_shares [@p] over "dp" why "test"
  }
}

// -----

// C6
pipe.stage @stage0 index 0 layers [0, 0] {
  pipe.buffer parameter @p : tensor<64xf32> {pipe.share = #pipe.share<64 of @p from 0>}
  pipe.buffer parameter @q : tensor<64xf32> {pipe.share = #pipe.share<64 of @p from 32>}
  pipe.task update {
    // expected-error @+1 {{moves 'q' with #pipe.share<64 of @p from 32> behind #pipe.share<64 of @p from 0>, which end at 64; shares that move together stand in one row, in its order}}
    pipe.gather_shares [@p, @q] over "dp" why "test"
  }
}
