// What has no synchronisation.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-insert-gradient-sync

// expected-error @below {{has no 'dist.mesh'}}
module {
}

// -----

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] {
    // expected-error @+1 {{is combined by max over dp; only sums are synchronized}}
    pipe.buffer result @top : tensor<f32> {dist.sharding = #dist.sharding<[] unreduced{dp} max>}
  }
}
