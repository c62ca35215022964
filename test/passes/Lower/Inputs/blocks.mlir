// One block per operation or way of fusing; BlocksTest.cpp runs each against the interpreter.
module {
  graph.block @elementwise(%a: tensor<5x7xf32>, %b: tensor<5x7xf32>, %p: tensor<5x7xf32> {test.range = [1, 4]})
      -> (tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xi1>) {
    %0 = graph.add %a, %b : tensor<5x7xf32>
    %1 = graph.mul %0, %a : tensor<5x7xf32>
    %2 = graph.div %1, %p : tensor<5x7xf32>
    %3 = graph.max %a, %b : tensor<5x7xf32>
    %4 = graph.min %3, %2 : tensor<5x7xf32>
    %5 = graph.pow %p, %b : tensor<5x7xf32>
    %6 = graph.rem %a, %p : tensor<5x7xf32>
    %7 = graph.sign %a : tensor<5x7xf32>
    %8 = graph.abs %7 : tensor<5x7xf32>
    %9 = graph.neg %8 : tensor<5x7xf32>
    %lt = graph.compare lt %a, %b : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xi1>
    %10 = graph.select %lt, %6, %9 : (tensor<5x7xi1>, tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
    graph.yield %2, %4, %5, %6, %10, %lt : tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xf32>, tensor<5x7xi1>
  }
  graph.block @integers(%a: tensor<33xi32> {test.range = [-50, 50]}, %b: tensor<33xi32> {test.range = [-3, 4]}, %u: tensor<33xui32> {test.range = [0, 40]})
      -> (tensor<33xi32>, tensor<33xi32>, tensor<33xui32>, tensor<33xui32>, tensor<33xi1>, tensor<33xf32>, tensor<33xi64>) {
    %d = graph.div %a, %b : tensor<33xi32>
    %r = graph.rem %a, %b : tensor<33xi32>
    %l = graph.shift_left %u, %u : tensor<33xui32>
    %x = graph.xor %l, %u : tensor<33xui32>
    %s = graph.shift_right %x, %u : tensor<33xui32>
    %c = graph.compare ge %u, %x : (tensor<33xui32>, tensor<33xui32>) -> tensor<33xi1>
    %f = graph.convert %x : (tensor<33xui32>) -> tensor<33xf32>
    %w = graph.convert %a : (tensor<33xi32>) -> tensor<33xi64>
    graph.yield %d, %r, %x, %s, %c, %f, %w : tensor<33xi32>, tensor<33xi32>, tensor<33xui32>, tensor<33xui32>, tensor<33xi1>, tensor<33xf32>, tensor<33xi64>
  }
  graph.block @conversions(%a: tensor<40xf32> {test.range = [-9, 9]}, %i: tensor<40xi1>, %h: tensor<40xbf16>)
      -> (tensor<40xi32>, tensor<40xi1>, tensor<40xf32>, tensor<40xbf16>, tensor<40xui8>) {
    %0 = graph.convert %a : (tensor<40xf32>) -> tensor<40xi32>
    %1 = graph.convert %0 : (tensor<40xi32>) -> tensor<40xi1>
    %n = graph.not %i : tensor<40xi1>
    %both = graph.or %1, %n : tensor<40xi1>
    %2 = graph.convert %both : (tensor<40xi1>) -> tensor<40xf32>
    %3 = graph.mul %h, %h : tensor<40xbf16>
    %4 = graph.add %3, %h : tensor<40xbf16>
    %5 = graph.convert %a : (tensor<40xf32>) -> tensor<40xui8>
    graph.yield %0, %both, %2, %4, %5 : tensor<40xi32>, tensor<40xi1>, tensor<40xf32>, tensor<40xbf16>, tensor<40xui8>
  }
  graph.block @moved(%a: tensor<4x6xf32>, %b: tensor<6xf32>)
      -> (tensor<6x4xf32>, tensor<2x3xf32>, tensor<4x6xf32>, tensor<3x8xf32>, tensor<4x2x3xf32>, tensor<24xf32>) {
    %t = graph.transpose %a [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %te = graph.exp %t : tensor<6x4xf32>
    %s = graph.slice %a [1, 0] to [4, 6] step [2, 2] : (tensor<4x6xf32>) -> tensor<2x3xf32>
    %sn = graph.neg %s : tensor<2x3xf32>
    %bb = graph.broadcast %b dims [1] : (tensor<6xf32>) -> tensor<4x6xf32>
    %r = graph.reverse %a dims [0, 1] : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %rb = graph.add %r, %bb : tensor<4x6xf32>
    %m = graph.mul %a, %bb : tensor<4x6xf32>
    %reshaped = graph.reshape %m : (tensor<4x6xf32>) -> tensor<3x8xf32>
    %split = graph.reshape %rb : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
    %n2 = graph.neg %split : tensor<4x2x3xf32>
    %flat = graph.reshape %rb : (tensor<4x6xf32>) -> tensor<24xf32>
    graph.yield %te, %sn, %rb, %reshaped, %n2, %flat : tensor<6x4xf32>, tensor<2x3xf32>, tensor<4x6xf32>, tensor<3x8xf32>, tensor<4x2x3xf32>, tensor<24xf32>
  }
  graph.block @joined(%a: tensor<4x6xf32>, %b: tensor<4x3xf32>, %v: tensor<f32>) -> (tensor<4x9xf32>, tensor<7x11xf32>, tensor<3x4xf32>) {
    %n = graph.neg %b : tensor<4x3xf32>
    %c = graph.concat %a, %n {dim = 1 : i64} : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x9xf32>
    %p = graph.pad %a, %v low [1, 0] high [2, -1] interior [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<7x10xf32>
    %p2 = graph.pad %p, %v low [0, 1] high [0, 0] interior [0, 0] : (tensor<7x10xf32>, tensor<f32>) -> tensor<7x11xf32>
    %cut = graph.pad %a, %v low [-1, -2] high [0, 0] interior [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x4xf32>
    graph.yield %c, %p2, %cut : tensor<4x9xf32>, tensor<7x11xf32>, tensor<3x4xf32>
  }
  graph.block @constants() -> (tensor<3x4xi32>, tensor<5xf32>, tensor<4xi1>, tensor<6xbf16>) {
    %i = graph.iota {dim = 1 : i64} : tensor<3x4xi32>
    %two = graph.constant dense<2> : tensor<3x4xi32>
    %d = graph.mul %i, %two : tensor<3x4xi32>
    %c = graph.constant dense<[1.0, 2.5, -3.0, 0.0, 7.0]> : tensor<5xf32>
    %e = graph.exp %c : tensor<5xf32>
    %b = graph.constant dense<[true, false, false, true]> : tensor<4xi1>
    %f = graph.iota {dim = 0 : i64} : tensor<6xbf16>
    graph.yield %d, %e, %b, %f : tensor<3x4xi32>, tensor<5xf32>, tensor<4xi1>, tensor<6xbf16>
  }
  graph.block @reductions(%a: tensor<6x5x4xf32>, %h: tensor<3x130xbf16>, %i: tensor<9x3xi32> {test.range = [-9, 9]}, %b: tensor<9x3xi1>)
      -> (tensor<5xf32>, tensor<6x5xf32>, tensor<f32>, tensor<3xbf16>, tensor<3xi32>, tensor<9xi1>, tensor<9xi1>, tensor<4xf32>, tensor<6x4xf32>) {
    %sq = graph.mul %a, %a : tensor<6x5x4xf32>
    %0 = graph.reduce sum %sq dims [0, 2] : (tensor<6x5x4xf32>) -> tensor<5xf32>
    %1 = graph.reduce max %a dims [2] : (tensor<6x5x4xf32>) -> tensor<6x5xf32>
    %2 = graph.reduce sum %a dims [0, 1, 2] : (tensor<6x5x4xf32>) -> tensor<f32>
    %3 = graph.reduce sum %h dims [1] : (tensor<3x130xbf16>) -> tensor<3xbf16>
    %4 = graph.reduce min %i dims [0] : (tensor<9x3xi32>) -> tensor<3xi32>
    %5 = graph.reduce or %b dims [1] : (tensor<9x3xi1>) -> tensor<9xi1>
    %6 = graph.reduce and %b dims [1] : (tensor<9x3xi1>) -> tensor<9xi1>
    %one = graph.constant dense<1.0> : tensor<7x4xf32>
    %7 = graph.reduce sum %one dims [0] : (tensor<7x4xf32>) -> tensor<4xf32>
    %row = graph.slice %a [0, 0, 0] to [6, 1, 4] step [1, 1, 1] : (tensor<6x5x4xf32>) -> tensor<6x1x4xf32>
    %rows = graph.broadcast %row dims [0, 1, 2] : (tensor<6x1x4xf32>) -> tensor<6x3x4xf32>
    %8 = graph.reduce sum %rows dims [1] : (tensor<6x3x4xf32>) -> tensor<6x4xf32>
    graph.yield %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<5xf32>, tensor<6x5xf32>, tensor<f32>, tensor<3xbf16>, tensor<3xi32>, tensor<9xi1>, tensor<9xi1>, tensor<4xf32>, tensor<6x4xf32>
  }
  graph.block @running(%a: tensor<3x5x2xf32>, %i: tensor<7xi32>) -> (tensor<3x5x2xf32>, tensor<7xi32>) {
    %0 = graph.cumulative sum %a {dim = 1 : i64} : tensor<3x5x2xf32>
    %1 = graph.cumulative max %i {dim = 0 : i64, reverse} : tensor<7xi32>
    graph.yield %0, %1 : tensor<3x5x2xf32>, tensor<7xi32>
  }
  graph.block @einsums(%a: tensor<2x3x4xf32>, %b: tensor<4x5xf32>, %c: tensor<2x5x4xf32>, %m: tensor<3xf32>)
      -> (tensor<2x3x5xf32>, tensor<2x5x3xf32>, tensor<3x2x4xf32>, tensor<f32>, tensor<4xf32>) {
    %0 = graph.einsum "bsd,df->bsf" %a, %b : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
    %1 = graph.einsum "bsd,bfd->bfs" %a, %c : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x3xf32>
    %2 = graph.einsum "bsd,s->sbd" %a, %m : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<3x2x4xf32>
    %3 = graph.einsum "bsd,s->" %a, %m : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<f32>
    %t = graph.transpose %c [2, 0, 1] : (tensor<2x5x4xf32>) -> tensor<4x2x5xf32>
    %4 = graph.einsum "dbf,df->d" %t, %b : (tensor<4x2x5xf32>, tensor<4x5xf32>) -> tensor<4xf32>
    graph.yield %0, %1, %2, %3, %4 : tensor<2x3x5xf32>, tensor<2x5x3xf32>, tensor<3x2x4xf32>, tensor<f32>, tensor<4xf32>
  }
  graph.block @mixed_einsum(%a: tensor<6x8xbf16>, %b: tensor<8x5xbf16>, %c: tensor<6x5xbf16>, %w: tensor<5x3xf32>) -> (tensor<6x5xf32>, tensor<6x5xbf16>, tensor<6x3xf32>) {
    %0 = graph.einsum "bd,df->bf" %a, %b : (tensor<6x8xbf16>, tensor<8x5xbf16>) -> tensor<6x5xf32>
    %1 = graph.einsum "bd,df->bf" %a, %b : (tensor<6x8xbf16>, tensor<8x5xbf16>) -> tensor<6x5xbf16>
    %2 = graph.einsum "bf,fk->bk" %c, %w : (tensor<6x5xbf16>, tensor<5x3xf32>) -> tensor<6x3xf32>
    graph.yield %0, %1, %2 : tensor<6x5xf32>, tensor<6x5xbf16>, tensor<6x3xf32>
  }
  graph.block @indexed(%x: tensor<2x9x3xf32>, %ids: tensor<2x4xi32> {test.range = [-2, 12]}, %table: tensor<9x3xf32>, %tokens: tensor<2x5xi32> {test.range = [-9, 9]}, %d: tensor<2x5x3xf32>)
      -> (tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<9x3xf32>, tensor<2x9x3xf32>) {
    %0 = graph.gather %x, %ids {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<2x9x3xf32>, tensor<2x4xi32>) -> tensor<2x4x3xf32>
    %1 = graph.embedding %table, %tokens : (tensor<9x3xf32>, tensor<2x5xi32>) -> tensor<2x5x3xf32>
    %2 = graph.embedding_grad %d, %tokens : (tensor<2x5x3xf32>, tensor<2x5xi32>) -> tensor<9x3xf32>
    %3 = graph.scatter_add %0, %ids {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<2x4x3xf32>, tensor<2x4xi32>) -> tensor<2x9x3xf32>
    graph.yield %0, %1, %2, %3 : tensor<2x4x3xf32>, tensor<2x5x3xf32>, tensor<9x3xf32>, tensor<2x9x3xf32>
  }
  graph.block @sorted(%x: tensor<3x8xf32>, %ids: tensor<3x8xi32>) -> (tensor<3x2xf32>, tensor<3x2xi32>, tensor<3x8xf32>, tensor<3x8xi64>) {
    %v, %i = graph.top_k %x {k = 2 : i64} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    %s, %p = graph.sort %x {descending} : (tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xi64>)
    graph.yield %v, %i, %s, %p : tensor<3x2xf32>, tensor<3x2xi32>, tensor<3x8xf32>, tensor<3x8xi64>
  }
  graph.block @norms(%x: tensor<2x3x16xf32>, %scale: tensor<16xf32>, %bias: tensor<16xf32>, %dy: tensor<2x3x16xf32>)
      -> (tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<16xf32>) {
    %y, %mean, %rstd = graph.layer_norm %x, %scale, %bias {epsilon = 1.0e-5 : f64}
      : (tensor<2x3x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x3x16xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    %dx, %ds, %db = graph.layer_norm_grad %dy, %x, %scale, %mean, %rstd
      : (tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<16xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3x16xf32>, tensor<16xf32>, tensor<16xf32>)
    %r, %rr = graph.rms_norm %x, %scale {epsilon = 1.0e-6 : f64} : (tensor<2x3x16xf32>, tensor<16xf32>) -> (tensor<2x3x16xf32>, tensor<2x3xf32>)
    %rdx, %rds = graph.rms_norm_grad %dy, %x, %scale, %rr
      : (tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<16xf32>, tensor<2x3xf32>) -> (tensor<2x3x16xf32>, tensor<16xf32>)
    graph.yield %y, %dx, %ds, %db, %r, %rdx, %rds : tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<16xf32>
  }
  graph.block @losses(%x: tensor<6x11xf32>, %t: tensor<6xi64>, %dl: tensor<6xf32>) -> (tensor<6x11xf32>, tensor<6x11xf32>, tensor<6xf32>, tensor<6x11xf32>) {
    %p = graph.softmax %x : tensor<6x11xf32>
    %g = graph.softmax_grad %p, %x : tensor<6x11xf32>
    %l, %m, %s = graph.softmax_cross_entropy %x, %t : (tensor<6x11xf32>, tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
    %dx = graph.softmax_cross_entropy_grad %dl, %x, %t, %m, %s
      : (tensor<6xf32>, tensor<6x11xf32>, tensor<6xi64>, tensor<6xf32>, tensor<6xf32>) -> tensor<6x11xf32>
    graph.yield %p, %g, %l, %dx : tensor<6x11xf32>, tensor<6x11xf32>, tensor<6xf32>, tensor<6x11xf32>
  }
  graph.block @activations(%x: tensor<3x50xf32>, %dy: tensor<3x50xf32>, %h: tensor<64xbf16>)
      -> (tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<64xbf16>) {
    %0 = graph.gelu tanh %x : tensor<3x50xf32>
    %1 = graph.gelu_grad tanh %dy, %x : tensor<3x50xf32>
    %2 = graph.gelu erf %x : tensor<3x50xf32>
    %3 = graph.gelu_grad erf %dy, %x : tensor<3x50xf32>
    %4 = graph.silu_grad %dy, %x : tensor<3x50xf32>
    %5 = graph.swiglu %x, %dy : tensor<3x50xf32>
    %6:2 = graph.swiglu_grad %dy, %x, %5 : tensor<3x50xf32>
    %8 = graph.add %6#0, %6#1 : tensor<3x50xf32>
    %9 = graph.silu %h : tensor<64xbf16>
    graph.yield %0, %1, %2, %3, %4, %5, %8, %9 : tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<3x50xf32>, tensor<64xbf16>
  }
  graph.block @rope(%x: tensor<2x3x2x8xf32>, %half: tensor<3x4xf32>) -> (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) {
    %c = graph.cos %half : tensor<3x4xf32>
    %s = graph.sin %half : tensor<3x4xf32>
    %cos = graph.concat %c, %c {dim = 1 : i64} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
    %sin = graph.concat %s, %s {dim = 1 : i64} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
    %y = graph.rope %x, %cos, %sin : (tensor<2x3x2x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<2x3x2x8xf32>
    %d = graph.rope %x, %cos, %sin {transposed} : (tensor<2x3x2x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<2x3x2x8xf32>
    graph.yield %y, %d : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>
  }
  graph.block @attention(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>, %v: tensor<2x5x2x8xf32>, %do: tensor<2x5x4x8xf32>, %mask: tensor<2x1x1x5xf32>)
      -> (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>) {
    %o, %lse = graph.attention %q, %k, %v {scale = 0.35 : f64, causal, masked_value = -1.0e30 : f64}
      : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
    %dq, %dk, %dv = graph.attention_grad %do, %q, %k, %v, %o, %lse {scale = 0.35 : f64, causal, masked_value = -1.0e30 : f64}
      : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
      -> (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>)
    %o2, %lse2 = graph.attention %q, %k, %v mask %mask {scale = 0.35 : f64, masked_value = -1.0e30 : f64}
      : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x1x1x5xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
    %dq2, %dk2, %dv2 = graph.attention_grad %do, %q, %k, %v, %o2, %lse2 mask %mask {scale = 0.35 : f64, masked_value = -1.0e30 : f64}
      : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x4x8xf32>, tensor<2x4x5xf32>, tensor<2x1x1x5xf32>)
      -> (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>)
    graph.yield %o, %dq, %dk, %dv, %o2, %dk2 : tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>
  }
  // Results that are arguments, the same value twice, and parts of another result.
  graph.block @passed(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>, tensor<2x4xf32>) {
    %n = graph.neg %x : tensor<4x4xf32>
    %f = graph.reshape %n : (tensor<4x4xf32>) -> tensor<16xf32>
    %s = graph.slice %n [2, 0] to [4, 4] step [1, 1] : (tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.yield %x, %n, %f, %n, %s : tensor<4x4xf32>, tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>, tensor<2x4xf32>
  }
}
