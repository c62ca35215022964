// One residual MLP layer and a mean-square loss on one rank, two microbatches, as it stands after `schedule`.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 2>} {
  graph.block @layer.fwd(%x: tensor<4x8xf32>, %up: tensor<8x16xf32>, %down: tensor<16x8xf32>)
      -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>) attributes {graph.saves = 2 : i64} {
    %h = graph.einsum "bd,df->bf" %x, %up : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %a = graph.gelu tanh %h : tensor<4x16xf32>
    %o = graph.einsum "bf,fd->bd" %a, %down : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %y = graph.add %x, %o : tensor<4x8xf32>
    graph.yield %y, %x, %h : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>
  }
  graph.block @layer.bwd(%dy: tensor<4x8xf32>, %up: tensor<8x16xf32>, %down: tensor<16x8xf32>, %x: tensor<4x8xf32>, %h: tensor<4x16xf32>)
      -> (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>) {
    %a = graph.gelu tanh %h : tensor<4x16xf32>
    %ddown = graph.einsum "bf,bd->fd" %a, %dy : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
    %da = graph.einsum "bd,fd->bf" %dy, %down : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    %dh = graph.gelu_grad tanh %da, %h : tensor<4x16xf32>
    %dup = graph.einsum "bd,bf->df" %x, %dh : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %dx0 = graph.einsum "bf,df->bd" %dh, %up : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
    %dx = graph.add %dx0, %dy : tensor<4x8xf32>
    graph.yield %dx, %dup, %ddown : tensor<4x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>
  }
  pipe.stage @stage0 index 0 layers [0, 0] attributes {slots = array<i64: 1>, order = ["F0", "B0", "F1", "B1", "S", "U"]} {
    pipe.buffer parameter @up : tensor<8x16xf32> {graph.name = "params.up", graph.role = "param", graph.init = {kind = "normal", std = 0.25}}
    pipe.buffer parameter @down : tensor<16x8xf32> {graph.name = "params.down", graph.role = "param"}
    pipe.buffer input @in.x : tensor<8x8xf32> {graph.name = "batch.x", graph.role = "input", dist.sharding = #dist.sharding<[{dp:8},{}]>}
    pipe.buffer input @in.t : tensor<8x8xf32> {graph.name = "batch.t", graph.role = "input", dist.sharding = #dist.sharding<[{dp:8},{}]>}
    pipe.buffer activation @x : tensor<4x8xf32>
    pipe.buffer activation @h : tensor<4x16xf32>
    pipe.buffer activation @e : tensor<4x8xf32>
    pipe.buffer gradient @g.up : tensor<8x16xf32> {pipe.of = @up}
    pipe.buffer gradient @g.down : tensor<16x8xf32> {pipe.of = @down}
    pipe.buffer result @loss : tensor<f32> {graph.name = "loss"}
    pipe.task forward {
      %all = pipe.read @in.x : tensor<8x8xf32>
      %x = dist.shard_slice %all dim 0 over mb : (tensor<8x8xf32>) -> tensor<4x8xf32>
      %up = pipe.read @up : tensor<8x16xf32>
      %down = pipe.read @down : tensor<16x8xf32>
      %r:3 = graph.call @layer.fwd(%x, %up, %down) {layer = 0 : i64}
        : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>)
      %allT = pipe.read @in.t : tensor<8x8xf32>
      %t = dist.shard_slice %allT dim 0 over mb : (tensor<8x8xf32>) -> tensor<4x8xf32>
      %e = graph.sub %r#0, %t : tensor<4x8xf32>
      %s = graph.mul %e, %e : tensor<4x8xf32>
      %sum = graph.reduce sum %s dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
      %n = graph.constant dense<64.0> : tensor<f32>
      %l = graph.div %sum, %n : tensor<f32>
      pipe.accumulate %l into @loss : tensor<f32>
      pipe.write %r#1 to @x : tensor<4x8xf32>
      pipe.write %r#2 to @h : tensor<4x16xf32>
      pipe.write %e to @e : tensor<4x8xf32>
    }
    pipe.task backward {
      %e = pipe.read @e : tensor<4x8xf32>
      %c = graph.constant dense<0.03125> : tensor<4x8xf32>
      %dy = graph.mul %e, %c : tensor<4x8xf32>
      %x = pipe.read @x : tensor<4x8xf32>
      %h = pipe.read @h : tensor<4x16xf32>
      %up = pipe.read @up : tensor<8x16xf32>
      %down = pipe.read @down : tensor<16x8xf32>
      %g:3 = graph.call @layer.bwd(%dy, %up, %down, %x, %h) {layer = 0 : i64}
        : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>, tensor<4x8xf32>, tensor<4x16xf32>) -> (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16x8xf32>)
      pipe.accumulate %g#1 into @g.up : tensor<8x16xf32>
      pipe.accumulate %g#2 into @g.down : tensor<16x8xf32>
    }
    pipe.task synchronize {
      pipe.synchronize [@g.up, @g.down] over "dp" why "gradients"
      pipe.synchronize [@loss] over "dp" why "loss"
    }
    pipe.task update {
      pipe.update "adamw" @up by @g.up {decay}
      pipe.update "adamw" @down by @g.down {decay}
    }
  }
}
