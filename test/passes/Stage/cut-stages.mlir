// The residual MLP of four layers, partitioned for tp = 1, dp = 2, four microbatches of 2 rows, becomes two stages of two layers.
// RUN: p3dc-opt %s -p3d-cut-stages -p3d-verify-stages | FileCheck %s
// RUN: p3dc-opt %s -p3d-cut-stages=stages=1,3 -p3d-verify-stages | FileCheck %s --check-prefix=COUNTS
// RUN: p3dc-opt %s -p3d-split-backward -p3d-cut-stages -p3d-verify-stages | FileCheck %s --check-prefix=SPLIT
// RUN: p3dc-opt %s -p3d-cut-stages=chunks=2 -p3d-verify-stages | FileCheck %s --check-prefix=LOOP
// RUN: p3dc-opt %s -p3d-split-backward -p3d-cut-stages="chunks=2 turns=true" -p3d-verify-stages | FileCheck %s --check-prefix=VEE
// RUN: not p3dc-opt %s -p3d-cut-stages=chunks=3 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not p3dc-opt %s -p3d-cut-stages="chunks=2 stages=1,3" 2>&1 | FileCheck %s --check-prefix=PARTS

// The first stage holds layers 0 and 1; what its backward task needs is kept, its last value goes on.
// CHECK-LABEL: pipe.stage @stage0 index 0 layers [0, 1]
// CHECK: pipe.buffer {{ ?}}input @batch.x : tensor<8x16xf32> of tensor<16x16xf32>
// CHECK: pipe.buffer {{ ?}}activation @layer0.0 : tensor<2x16xf32>
// CHECK-NOT: @layer0.1
// CHECK: pipe.buffer {{ ?}}gradient @grads.l0.up : tensor<16x64xf32> {{.*}}pipe.of = @params.l0.up
// CHECK-NOT: task prologue
// CHECK: pipe.task {{ ?}}forward
// CHECK: %[[X:.*]] = pipe.read @batch.x
// CHECK: %[[XM:.*]] = dist.shard_slice %[[X]] dim 0 over {{ ?}}mb
// CHECK: %[[Y0:.*]]:4 = graph.call @layer.fwd(%[[XM]]
// CHECK: pipe.write %[[Y0]]#0 to @layer0.0
// CHECK: %[[Y1:.*]]:4 = graph.call @layer.fwd(%[[Y0]]#0
// CHECK: pipe.send %[[Y1]]#0 to 1 channel 0

// The block's saved argument is the value itself: the input is sliced again, not kept.
// CHECK: pipe.task {{ ?}}backward
// CHECK: %[[DY:.*]] = pipe.recv from 1 channel 1
// CHECK: %[[D1:.*]]:3 = graph.call @layer.bwd(%[[DY]]
// CHECK: pipe.accumulate %[[D1]]#1 into @grads.l1.up
// CHECK: %[[XB:.*]] = dist.shard_slice
// CHECK: graph.call @layer.bwd(%[[D1]]#0, %{{.*}}, %{{.*}}, %[[XB]]
// CHECK: pipe.update "adamw" @params.l0.up by @grads.l0.up {decay}

// The last stage alone needs the mask's count, complete before the first microbatch, and holds the loss.
// CHECK-LABEL: pipe.stage @stage1 index 1 layers [2, 3]
// CHECK: pipe.buffer {{ ?}}complete @prologue.0 : tensor<f32>
// CHECK: pipe.buffer {{ ?}}result @loss : tensor<f32>
// CHECK: pipe.task {{ ?}}prologue
// CHECK: pipe.write %{{.*}} to @prologue.0
// CHECK: pipe.task {{ ?}}forward
// CHECK: pipe.recv from 0 channel 0
// CHECK: pipe.accumulate %{{.*}} into @loss
// CHECK: pipe.task {{ ?}}backward
// CHECK: pipe.send %{{.*}} to 0 channel 1

// COUNTS: pipe.stage @stage0 index 0 layers [0, 0]
// COUNTS: pipe.stage @stage1 index 1 layers [1, 3]

// The gradients of the weights are computed for themselves: their block gets the gradient of the layer's result and what the other block made of it.
// SPLIT: graph.block @layer.bwd
// SPLIT: %[[DA:.*]] = graph.einsum
// SPLIT: graph.yield %{{.*}}, %[[DH:.*]] : tensor<2x16xf32>, tensor<2x64xf32>
// SPLIT: graph.block @layer.wgrad{{.*}}graph.weight_gradient_of = @layer.fwd
// SPLIT: graph.einsum
// SPLIT: graph.einsum
// SPLIT-NOT: graph.add
// SPLIT: graph.yield %{{.*}}, %{{.*}} : tensor<16x64xf32>, tensor<64x16xf32>
// SPLIT-LABEL: pipe.stage @stage0
// SPLIT-DAG: pipe.buffer {{ ?}}activation @layer0.grad.1 : tensor<2x64xf32>
// SPLIT-DAG: pipe.buffer {{ ?}}activation @layer1.grad.0 : tensor<2x16xf32>
// SPLIT-DAG: pipe.buffer {{ ?}}activation @layer0.2 : tensor<2x64xf32>
// SPLIT: pipe.task {{ ?}}backward
// SPLIT-NOT: pipe.accumulate
// SPLIT: pipe.write %{{.*}} to @layer0.grad.1
// SPLIT: pipe.task {{ ?}}weight_gradient
// SPLIT: pipe.read @layer0.grad.1
// SPLIT: graph.call @layer.wgrad
// SPLIT: pipe.accumulate %{{.*}} into @grads.l0.up
// SPLIT: pipe.task {{ ?}}update

// Stage 0 holds the first and the third part; every value between parts goes to the other stage.
// LOOP: pipe.stage @stage0 index 0 layers [0, 0, 2, 2]
// LOOP-NOT: activation @layer0.0
// LOOP: pipe.buffer {{ ?}}activation @layer1.0 : tensor<2x16xf32> {pipe.chunk = 1 : i64}
// LOOP: pipe.task {{ ?}}forward {
// LOOP: pipe.send %{{.*}} to 1 channel 0
// LOOP: pipe.task {{ ?}}forward chunk 1 {
// LOOP: pipe.recv from 1 channel 1
// LOOP: pipe.send %{{.*}} to 1 channel 2
// LOOP: pipe.stage @stage1 index 1 layers [1, 1, 3, 3]

// The last stage holds the second and the third part, and keeps what one hands to the other in the slot of the second.
// VEE: pipe.stage @stage0 index 0 layers [0, 0, 3, 3]
// VEE: pipe.stage @stage1 index 1 layers [1, 1, 2, 2]
// VEE: pipe.buffer {{ ?}}activation @layer1.0 : tensor<2x16xf32>
// VEE: pipe.buffer {{ ?}}activation @layer2.grad.0 : tensor<2x16xf32>{{$}}
// VEE: pipe.task {{ ?}}forward {
// VEE: pipe.write %{{.*}} to @layer1.0
// VEE: pipe.task {{ ?}}forward chunk 1 {
// VEE: pipe.read @layer1.0
// VEE: pipe.task {{ ?}}backward chunk 1 {
// VEE: pipe.write %{{.*}} to @layer2.grad.0

// FEW: error: 5 layers cannot fill 3 chunks on each of pp = 2 stages, 6 parts of at least one layer; use fewer chunks or a smaller pp
// PARTS: error: stages '1,3' names 2 parts, but pp = 2 stages of 2 chunks have 4

module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 2, dp = 2, mb = 4>} {
  graph.block @prologue(%mask: tensor<8xf32>) -> tensor<f32> attributes {graph.prologue} {
    %0 = graph.reduce sum %mask dims [0] : (tensor<8xf32>) -> tensor<f32>
    %1 = dist.all_reduce sum %0 over dp why "the mask's count" : tensor<f32>
    graph.yield %1 : tensor<f32>
  }
  graph.block @layer.fwd(%x: tensor<2x16xf32>, %up: tensor<16x64xf32>, %down: tensor<64x16xf32>)
      -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>) attributes {graph.saves = 3} {
    %h = graph.einsum "bd,df->bf" %x, %up : (tensor<2x16xf32>, tensor<16x64xf32>) -> tensor<2x64xf32>
    %a = graph.gelu tanh %h : tensor<2x64xf32>
    %o = graph.einsum "bf,fd->bd" %a, %down : (tensor<2x64xf32>, tensor<64x16xf32>) -> tensor<2x16xf32>
    %y = graph.add %x, %o : tensor<2x16xf32>
    graph.yield %y, %x, %h, %a : tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>
  }
  graph.block @layer.bwd(%dy: tensor<2x16xf32>, %up: tensor<16x64xf32>, %down: tensor<64x16xf32>, %x: tensor<2x16xf32>,
                         %h: tensor<2x64xf32>, %a: tensor<2x64xf32>)
      -> (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) attributes {graph.backward_of = @layer.fwd} {
    %da = graph.einsum "bd,fd->bf" %dy, %down : (tensor<2x16xf32>, tensor<64x16xf32>) -> tensor<2x64xf32>
    %dh = graph.gelu_grad tanh %da, %h : tensor<2x64xf32>
    %ddown = graph.einsum "bf,bd->fd" %a, %dy : (tensor<2x64xf32>, tensor<2x16xf32>) -> tensor<64x16xf32>
    %dup = graph.einsum "bd,bf->df" %x, %dh : (tensor<2x16xf32>, tensor<2x64xf32>) -> tensor<16x64xf32>
    %dx0 = graph.einsum "bf,df->bd" %dh, %up : (tensor<2x64xf32>, tensor<16x64xf32>) -> tensor<2x16xf32>
    %dx = graph.add %dy, %dx0 : tensor<2x16xf32>
    graph.yield %dx, %dup, %ddown : tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>
  }
  graph.block @last.fwd(%y: tensor<2x16xf32>, %t: tensor<2x16xf32>, %mask: tensor<2xf32>, %n: tensor<f32>)
      -> (tensor<f32>, tensor<2x16xf32>) attributes {graph.saves = 1} {
    %e = graph.sub %y, %t : tensor<2x16xf32>
    %q = graph.einsum "bd,bd->b" %e, %e : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2xf32>
    %s = graph.einsum "b,b->" %q, %mask : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
    %l = graph.div %s, %n : tensor<f32>
    graph.yield %l, %e : tensor<f32>, tensor<2x16xf32>
  }
  graph.block @last.bwd(%dl: tensor<f32>, %mask: tensor<2xf32>, %n: tensor<f32>, %e: tensor<2x16xf32>)
      -> tensor<2x16xf32> attributes {graph.backward_of = @last.fwd} {
    %0 = graph.div %dl, %n : tensor<f32>
    %1 = graph.einsum "bd,b->bd" %e, %mask : (tensor<2x16xf32>, tensor<2xf32>) -> tensor<2x16xf32>
    %2 = graph.einsum "bd,->bd" %1, %0 : (tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
    %3 = graph.add %2, %2 : tensor<2x16xf32>
    graph.yield %3 : tensor<2x16xf32>
  }
  graph.program @loss(
      %up0: tensor<16x64xf32> {graph.name = "params.l0.up", graph.role = "param"},
      %down0: tensor<64x16xf32> {graph.name = "params.l0.down", graph.role = "param"},
      %up1: tensor<16x64xf32> {graph.name = "params.l1.up", graph.role = "param"},
      %down1: tensor<64x16xf32> {graph.name = "params.l1.down", graph.role = "param"},
      %up2: tensor<16x64xf32> {graph.name = "params.l2.up", graph.role = "param"},
      %down2: tensor<64x16xf32> {graph.name = "params.l2.down", graph.role = "param"},
      %up3: tensor<16x64xf32> {graph.name = "params.l3.up", graph.role = "param"},
      %down3: tensor<64x16xf32> {graph.name = "params.l3.down", graph.role = "param"},
      %x: tensor<8x16xf32> {graph.name = "batch.x", graph.role = "input", dist.global_type = tensor<16x16xf32>},
      %t: tensor<8x16xf32> {graph.name = "batch.t", graph.role = "input", dist.global_type = tensor<16x16xf32>},
      %mask: tensor<8xf32> {graph.name = "batch.mask", graph.role = "input", dist.global_type = tensor<16xf32>})
      -> (tensor<f32> {graph.name = "loss", dist.sharding = #dist.sharding<[] unreduced{dp,mb}>},
          tensor<16x64xf32> {graph.name = "grads.l0.up", dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>},
          tensor<64x16xf32> {graph.name = "grads.l0.down", dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>},
          tensor<16x64xf32> {graph.name = "grads.l1.up", dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>},
          tensor<64x16xf32> {graph.name = "grads.l1.down", dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>},
          tensor<16x64xf32> {graph.name = "grads.l2.up", dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>},
          tensor<64x16xf32> {graph.name = "grads.l2.down", dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>},
          tensor<16x64xf32> {graph.name = "grads.l3.up", dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>},
          tensor<64x16xf32> {graph.name = "grads.l3.down", dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>}) {
    %n = graph.call @prologue(%mask) : (tensor<8xf32>) -> tensor<f32>
    %xm = dist.shard_slice %x dim 0 over mb : (tensor<8x16xf32>) -> tensor<2x16xf32>
    %tm = dist.shard_slice %t dim 0 over mb : (tensor<8x16xf32>) -> tensor<2x16xf32>
    %maskm = dist.shard_slice %mask dim 0 over mb : (tensor<8xf32>) -> tensor<2xf32>
    %one = graph.constant dense<1.0> : tensor<f32>
    %y0:4 = graph.call @layer.fwd(%xm, %up0, %down0) {layer = 0} : (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>)
    %y1:4 = graph.call @layer.fwd(%y0#0, %up1, %down1) {layer = 1} : (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>)
    %y2:4 = graph.call @layer.fwd(%y1#0, %up2, %down2) {layer = 2} : (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>)
    %y3:4 = graph.call @layer.fwd(%y2#0, %up3, %down3) {layer = 3} : (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>)
    %l:2 = graph.call @last.fwd(%y3#0, %tm, %maskm, %n) : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2xf32>, tensor<f32>) -> (tensor<f32>, tensor<2x16xf32>)
    %dy3 = graph.call @last.bwd(%one, %maskm, %n, %l#1) : (tensor<f32>, tensor<2xf32>, tensor<f32>, tensor<2x16xf32>) -> tensor<2x16xf32>
    %d3:3 = graph.call @layer.bwd(%dy3, %up3, %down3, %y3#1, %y3#2, %y3#3) : (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>) -> (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
    %d2:3 = graph.call @layer.bwd(%d3#0, %up2, %down2, %y2#1, %y2#2, %y2#3) : (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>) -> (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
    %d1:3 = graph.call @layer.bwd(%d2#0, %up1, %down1, %y1#1, %y1#2, %y1#3) : (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>) -> (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
    %d0:3 = graph.call @layer.bwd(%d1#0, %up0, %down0, %y0#1, %y0#2, %y0#3) : (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<2x16xf32>, tensor<2x64xf32>, tensor<2x64xf32>) -> (tensor<2x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>)
    graph.update "adamw" %up0, %d0#1 {decay} : tensor<16x64xf32>, tensor<16x64xf32>
    graph.update "adamw" %down0, %d0#2 {decay} : tensor<64x16xf32>, tensor<64x16xf32>
    graph.update "adamw" %up1, %d1#1 {decay} : tensor<16x64xf32>, tensor<16x64xf32>
    graph.update "adamw" %down1, %d1#2 {decay} : tensor<64x16xf32>, tensor<64x16xf32>
    graph.update "adamw" %up2, %d2#1 {decay} : tensor<16x64xf32>, tensor<16x64xf32>
    graph.update "adamw" %down2, %d2#2 {decay} : tensor<64x16xf32>, tensor<64x16xf32>
    graph.update "adamw" %up3, %d3#1 {decay} : tensor<16x64xf32>, tensor<16x64xf32>
    graph.update "adamw" %down3, %d3#2 {decay} : tensor<64x16xf32>, tensor<64x16xf32>
    graph.yield %l#0, %d0#1, %d0#2, %d1#1, %d1#2, %d2#1, %d2#2, %d3#1, %d3#2 : tensor<f32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x64xf32>, tensor<64x16xf32>
  }
}
