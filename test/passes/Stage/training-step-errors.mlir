// What a training step must be before it is cut.
// RUN: p3dc-opt %s -split-input-file -verify-diagnostics -p3d-cut-stages

// expected-error @below {{has 0 graph.program ops, expected one}}
module {
}

// -----

// expected-error @below {{has no 'dist.mesh'; partition it first}}
module {
  graph.program @loss() {
    graph.yield
  }
}

// -----

// Layers in another order than their numbers.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 1} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    // expected-error @below {{is layer 0 but stands after layer 1; layers are numbered in the order of the program}}
    %b = graph.call @layer.fwd(%a, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %b dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    graph.yield %l : tensor<f32>
  }
}

// -----

// A backward pass that runs along the pipeline: layer 1 would need what layer 0 makes.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.block @layer.bwd(%d: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> attributes {graph.backward_of = @layer.fwd} {
    %y = graph.einsum "be,de->bd" %d, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 0, graph.id = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %b = graph.call @layer.fwd(%a, %w) {layer = 1, graph.id = 1} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %b dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    // expected-note @below {{the value comes from here}}
    %c = graph.call @layer.bwd(%b, %w) {graph.of = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    // expected-error @below {{in stage 1 needs a value of stage 0 in the same backward pass; cut elsewhere with the option stages}}
    %d = graph.call @layer.bwd(%c, %w) {graph.of = 1} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %l : tensor<f32>
  }
}

// -----

// A prologue on a microbatch.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.block @prologue(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> attributes {graph.prologue} {
    graph.yield %x : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    // expected-error @below {{of prologue block 'prologue' depends on a microbatch's values; only inputs and constants are known before the first microbatch}}
    %b = graph.call @prologue(%a, %w) {} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %b dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    graph.yield %l : tensor<f32>
  }
}

// -----

// A backward block of nothing.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  // expected-error @below {{has 'graph.backward_of', which is no name of a block}}
  graph.block @layer.bwd(%d: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> attributes {graph.backward_of = 1} {
    %y = graph.einsum "be,de->bd" %d, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %b = graph.call @layer.bwd(%a, %w) {} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %a dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    graph.yield %l : tensor<f32>
  }
}

// -----

// A backward call more than forward ones.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.block @layer.bwd(%d: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> attributes {graph.backward_of = @layer.fwd} {
    %y = graph.einsum "be,de->bd" %d, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %b = graph.call @layer.bwd(%a, %w) {} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    // expected-error @below {{has no forward call of 'layer.fwd' left to belong to}}
    %c = graph.call @layer.bwd(%b, %w) {} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %a dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    graph.yield %l : tensor<f32>
  }
}

// -----

// Updates.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %a dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    %n = graph.neg %w : tensor<4x4xf32>
    // expected-error @below {{updates a value that is no argument of the program}}
    graph.update "sgd" %n, %w : tensor<4x4xf32>, tensor<4x4xf32>
    graph.yield %l : tensor<f32>
  }
}

// -----

// Updates.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %a dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    %n = graph.neg %w : tensor<4x4xf32>
    // expected-error @below {{uses a gradient that is no result of the program, so its sharding is not known}}
    graph.update "sgd" %w, %n : tensor<4x4xf32>, tensor<4x4xf32>
    graph.yield %l : tensor<f32>
  }
}

// -----

// Gradients without updates belong to the parameters in their order.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  // expected-error @below {{returns 2 gradients for 1 parameters}}
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss"}, tensor<4x4xf32> {graph.name = "grads.w"}, tensor<4x4xf32> {graph.name = "grads.v"}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce sum %a dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    graph.yield %l, %w, %w : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// A metric that is a maximum over the batch.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 2, mb = 1>} {
  graph.block @layer.fwd(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
    %y = graph.einsum "bd,de->be" %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %y : tensor<2x4xf32>
  }
  // expected-error @below {{result 'loss' is combined by max over the batch; only sums are accumulated}}
  graph.program @loss(%w: tensor<4x4xf32> {graph.name = "params.w", graph.role = "param"}, %x: tensor<2x4xf32> {graph.name = "batch.x", graph.role = "input"}) -> (tensor<f32> {graph.name = "loss", dist.sharding = #dist.sharding<[] unreduced{dp} max>}) {
    %a = graph.call @layer.fwd(%x, %w) {layer = 0} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %l = graph.reduce max %a dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    graph.yield %l : tensor<f32>
  }
}
