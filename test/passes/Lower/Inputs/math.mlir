// Each function of floats on its own: the values of `x`, and of `p` for those that want positive numbers, go through it into a gradient buffer.
module attributes {dist.mesh = #dist.mesh<tp = 1, pp = 1, dp = 1, mb = 1>} {
  pipe.stage @stage0 index 0 layers [0, 0] attributes {slots = array<i64: 1>, order = ["P"]} {
    pipe.buffer input @x : tensor<4096xf32> {graph.name = "x"}
    pipe.buffer input @p : tensor<4096xf32> {graph.name = "p"}
    pipe.buffer parameter @exp : tensor<4096xf32> {graph.name = "exp"}
    pipe.buffer parameter @expm1 : tensor<4096xf32> {graph.name = "expm1"}
    pipe.buffer parameter @tanh : tensor<4096xf32> {graph.name = "tanh"}
    pipe.buffer parameter @logistic : tensor<4096xf32> {graph.name = "logistic"}
    pipe.buffer parameter @erf : tensor<4096xf32> {graph.name = "erf"}
    pipe.buffer parameter @sin : tensor<4096xf32> {graph.name = "sin"}
    pipe.buffer parameter @cos : tensor<4096xf32> {graph.name = "cos"}
    pipe.buffer parameter @cbrt : tensor<4096xf32> {graph.name = "cbrt"}
    pipe.buffer parameter @gelu_tanh : tensor<4096xf32> {graph.name = "gelu_tanh"}
    pipe.buffer parameter @gelu_erf : tensor<4096xf32> {graph.name = "gelu_erf"}
    pipe.buffer parameter @silu : tensor<4096xf32> {graph.name = "silu"}
    pipe.buffer parameter @round_even : tensor<4096xf32> {graph.name = "round_even"}
    pipe.buffer parameter @log : tensor<4096xf32> {graph.name = "log"}
    pipe.buffer parameter @log1p : tensor<4096xf32> {graph.name = "log1p"}
    pipe.buffer parameter @sqrt : tensor<4096xf32> {graph.name = "sqrt"}
    pipe.buffer parameter @rsqrt : tensor<4096xf32> {graph.name = "rsqrt"}
    pipe.buffer parameter @erfc : tensor<4096xf32> {graph.name = "erfc"}
    pipe.buffer gradient @g.exp : tensor<4096xf32> {pipe.of = @exp}
    pipe.buffer gradient @g.expm1 : tensor<4096xf32> {pipe.of = @expm1}
    pipe.buffer gradient @g.tanh : tensor<4096xf32> {pipe.of = @tanh}
    pipe.buffer gradient @g.logistic : tensor<4096xf32> {pipe.of = @logistic}
    pipe.buffer gradient @g.erf : tensor<4096xf32> {pipe.of = @erf}
    pipe.buffer gradient @g.sin : tensor<4096xf32> {pipe.of = @sin}
    pipe.buffer gradient @g.cos : tensor<4096xf32> {pipe.of = @cos}
    pipe.buffer gradient @g.cbrt : tensor<4096xf32> {pipe.of = @cbrt}
    pipe.buffer gradient @g.gelu_tanh : tensor<4096xf32> {pipe.of = @gelu_tanh}
    pipe.buffer gradient @g.gelu_erf : tensor<4096xf32> {pipe.of = @gelu_erf}
    pipe.buffer gradient @g.silu : tensor<4096xf32> {pipe.of = @silu}
    pipe.buffer gradient @g.round_even : tensor<4096xf32> {pipe.of = @round_even}
    pipe.buffer gradient @g.log : tensor<4096xf32> {pipe.of = @log}
    pipe.buffer gradient @g.log1p : tensor<4096xf32> {pipe.of = @log1p}
    pipe.buffer gradient @g.sqrt : tensor<4096xf32> {pipe.of = @sqrt}
    pipe.buffer gradient @g.rsqrt : tensor<4096xf32> {pipe.of = @rsqrt}
    pipe.buffer gradient @g.erfc : tensor<4096xf32> {pipe.of = @erfc}
    pipe.task prologue {
      %x = pipe.read @x : tensor<4096xf32>
      %p = pipe.read @p : tensor<4096xf32>
      %exp = graph.exp %x : tensor<4096xf32>
      pipe.accumulate %exp into @g.exp : tensor<4096xf32>
      %expm1 = graph.expm1 %x : tensor<4096xf32>
      pipe.accumulate %expm1 into @g.expm1 : tensor<4096xf32>
      %tanh = graph.tanh %x : tensor<4096xf32>
      pipe.accumulate %tanh into @g.tanh : tensor<4096xf32>
      %logistic = graph.logistic %x : tensor<4096xf32>
      pipe.accumulate %logistic into @g.logistic : tensor<4096xf32>
      %erf = graph.erf %x : tensor<4096xf32>
      pipe.accumulate %erf into @g.erf : tensor<4096xf32>
      %sin = graph.sin %x : tensor<4096xf32>
      pipe.accumulate %sin into @g.sin : tensor<4096xf32>
      %cos = graph.cos %x : tensor<4096xf32>
      pipe.accumulate %cos into @g.cos : tensor<4096xf32>
      %cbrt = graph.cbrt %x : tensor<4096xf32>
      pipe.accumulate %cbrt into @g.cbrt : tensor<4096xf32>
      %gelu_tanh = graph.gelu tanh %x : tensor<4096xf32>
      pipe.accumulate %gelu_tanh into @g.gelu_tanh : tensor<4096xf32>
      %gelu_erf = graph.gelu erf %x : tensor<4096xf32>
      pipe.accumulate %gelu_erf into @g.gelu_erf : tensor<4096xf32>
      %silu = graph.silu %x : tensor<4096xf32>
      pipe.accumulate %silu into @g.silu : tensor<4096xf32>
      %round_even = graph.round_even %x : tensor<4096xf32>
      pipe.accumulate %round_even into @g.round_even : tensor<4096xf32>
      %log = graph.log %p : tensor<4096xf32>
      pipe.accumulate %log into @g.log : tensor<4096xf32>
      %log1p = graph.log1p %p : tensor<4096xf32>
      pipe.accumulate %log1p into @g.log1p : tensor<4096xf32>
      %sqrt = graph.sqrt %p : tensor<4096xf32>
      pipe.accumulate %sqrt into @g.sqrt : tensor<4096xf32>
      %rsqrt = graph.rsqrt %p : tensor<4096xf32>
      pipe.accumulate %rsqrt into @g.rsqrt : tensor<4096xf32>
      %erfc = graph.erfc %p : tensor<4096xf32>
      pipe.accumulate %erfc into @g.erfc : tensor<4096xf32>
    }
  }
}
