// Commands that cannot be lowered.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-lower-commands

exec.function @layer(%x: memref<4xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  // expected-error @below {{'graph.constant' op is no command}}
  %0 = graph.constant dense<1.0> : tensor<f32>
}

// -----

exec.function @layer(%x: memref<4xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  // expected-error @below {{'exec.constant' op is a constant whose elements are not at hand; print the module with all elements}}
  %0 = exec.constant dense_resource<__elided__> : tensor<4xf32> : memref<4xf32>
}

// -----

exec.function @layer(%x: memref<4xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  // expected-error @below {{'exec.temporary' op has no place; run p3d-plan-memory first}}
  %0 = exec.temporary : memref<4xf32>
}

// -----

exec.function @layer(%x: memref<4xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  // expected-error @below {{'exec.start' op is over two axes, but the module has no dist.mesh with their sizes}}
  %0 = exec.start [#dist<axis dp>, #dist<axis tp>] chunk 8
}

// -----

// The letters alternate between batch, rows and columns, so that no two of them are one loop.
exec.function @layer(%x: memref<2x2x2x2x2x2x2x2x2x2xf32>, %y: memref<2x2x2x2x2x2x2x2x2x2xf32>) attributes {outs = 1 : i64, scratch_bytes = 0 : i64} {
  // expected-error @below {{'exec.einsum' op needs more than 8 loops around its matrix product; join dimensions of 'abcdefghij,jihgfedcba->acegibdfhj'}}
  exec.einsum "abcdefghij,jihgfedcba->acegibdfhj"(%x, %x) -> (%y) : (memref<2x2x2x2x2x2x2x2x2x2xf32>, memref<2x2x2x2x2x2x2x2x2x2xf32>) -> memref<2x2x2x2x2x2x2x2x2x2xf32>
}

// -----

// expected-error @below {{has no dist.mesh}}
module {
  exec.program @stage0 index 0 slots [1] arena 0 zero 0 at 0 {
    exec.task forward scratch 0 at 0 {
    }
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  // expected-error @below {{has an action 'X0'; expected P, F<n>, B<n>, W<n>, S or U, with .<chunk> behind n of another chunk than the first}}
  exec.program @stage0 index 0 slots [1] arena 0 zero 0 at 0 attributes {order = ["X0"]} {
    exec.task forward scratch 0 at 0 {
    }
  }
}
