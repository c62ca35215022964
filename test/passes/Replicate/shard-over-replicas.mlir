// What each replica keeps of the optimizer's state (1), the gradients (2) and the parameters (3).
// RUN: p3dc-opt %s -p3d-shard-over-replicas=zero=1 -p3d-insert-gradient-sync -p3d-verify-gradient-sync | FileCheck %s --check-prefixes=ALL,ONE
// RUN: p3dc-opt %s -p3d-shard-over-replicas=zero=2 -p3d-insert-gradient-sync -p3d-verify-gradient-sync | FileCheck %s --check-prefixes=ALL,TWO
// RUN: p3dc-opt %s -p3d-shard-over-replicas=zero=3 -p3d-insert-gradient-sync -p3d-verify-gradient-sync | FileCheck %s --check-prefixes=ALL,THREE
// RUN: p3dc-opt %s -p3d-shard-over-replicas=zero=0 | FileCheck %s --check-prefix=NONE
// NONE-NOT: share

// Rows begin at multiples of 32 elements: 130 and 8 over two replicas are 168 elements, 96 a share.
module attributes {dist.mesh = #dist.mesh<tp = 2, pp = 1, dp = 2, mb = 1>} {
  // ALL-LABEL: pipe.stage @stage0
  pipe.stage @stage0 index 0 layers [0, 0] {
    // ONE: parameter @p : tensor<13x10xbf16> {{.*}}pipe.share = #pipe.share<96 of @p from 0>
    // ONE: parameter @q : tensor<8xbf16> {{.*}}pipe.share = #pipe.share<96 of @p from 160>
    // TWO: parameter @p : tensor<13x10xbf16> {{.*}}pipe.share = #pipe.share<96 of @p from 0>
    // THREE: parameter @p : tensor<96xbf16> of tensor<13x10xbf16> {{.*}}pipe.holds_share, pipe.share = #pipe.share<96 of @p from 0>
    // THREE: parameter @frozen : tensor<32xbf16> of tensor<64xbf16> {{.*}}pipe.holds_share
    pipe.buffer parameter @p : tensor<13x10xbf16> {graph.name = "params.p", graph.role = "param"}
    pipe.buffer parameter @q : tensor<8xbf16> {graph.role = "param"}
    pipe.buffer parameter @frozen : tensor<64xbf16> {graph.role = "frozen"}
    pipe.buffer complete @dp : tensor<13x10xf32>
    pipe.buffer complete @dq : tensor<8xf32>
    // ONE: gradient @g : tensor<13x10xf32> {{.*}}pipe.share = #pipe.share<96 of @g from 0>
    // ONE: gradient @h : tensor<8xf32> {{.*}}pipe.share = #pipe.share<96 of @g from 160>
    // TWO: gradient @g : tensor<96xf32> {{.*}}pipe.holds_share
    // TWO: gradient @h : tensor<32xf32> {{.*}}pipe.holds_share
    pipe.buffer gradient @g : tensor<13x10xf32> {dist.sharding = #dist.sharding<[{},{}] unreduced{dp,mb}>, pipe.of = @p}
    pipe.buffer gradient @h : tensor<8xf32> {dist.sharding = #dist.sharding<[{}] unreduced{tp,dp,mb}>, pipe.of = @q}
    // Used twice: gathered for each.
    // THREE: task forward
    // THREE: %[[SHARE:.*]] = pipe.read @p : tensor<96xbf16>
    // THREE: dist.all_gather %[[SHARE]] dim 0 over dp why "each rank of dp keeps a share of the parameters, and what computes with them needs the whole" {dist.parameters = ["params.p"], dist.remedy = "dp=1; --zero=2 keeps parameters whole"} : (tensor<96xbf16>) -> tensor<130xbf16>
    // THREE: %[[WHOLE:.*]] = graph.reshape %{{.*}} : (tensor<130xbf16>) -> tensor<13x10xbf16>
    // THREE: graph.add %[[WHOLE]], %[[WHOLE]]
    // THREE: dist.all_gather %[[SHARE]]
    // THREE: graph.neg
    pipe.task forward {
      %p = pipe.read @p : tensor<13x10xbf16>
      %0 = graph.add %p, %p : tensor<13x10xbf16>
      %1 = graph.neg %p : tensor<13x10xbf16>
    }
    // TWO: task backward
    // TWO: %[[FLAT:.*]] = graph.reshape %{{.*}} : (tensor<13x10xf32>) -> tensor<130xf32>
    // TWO: %[[SUM:.*]] = dist.reduce_scatter sum %[[FLAT]] dim 0 over dp why "gradients are sums over the batch, which dp cuts; each rank of dp keeps the share that it updates" {dist.parameters = ["params.p"], dist.remedy = "dp=1; --zero=1 sums once a step"} : (tensor<130xf32>) -> tensor<96xf32>
    // TWO: pipe.accumulate %[[SUM]] into @g
    pipe.task backward {
      %0 = pipe.read @dp : tensor<13x10xf32>
      pipe.accumulate %0 into @g : tensor<13x10xf32>
      %1 = pipe.read @dq : tensor<8xf32>
      pipe.accumulate %1 into @h : tensor<8xf32>
    }
    // ALL: task synchronize
    // ALL: pipe.synchronize [@h] over "tp"
    // ONE: pipe.reduce_shares [@g, @h] over "dp" why "gradients are sums over the batch, which dp cuts; each rank of dp updates its share of the parameters"
    // TWO-NOT: over "dp"
    // ALL: task update
    // ONE: pipe.gather_shares [@p, @q] over "dp" why "each rank of dp updates its share of the parameters, and all compute with the whole"
    // TWO: pipe.gather_shares [@p] over "dp"
    // TWO: pipe.gather_shares [@q] over "dp"
    // THREE-NOT: gather_shares
    pipe.task update {
      pipe.update "adamw" @p by @g {decay}
      pipe.update "adamw" @q by @h
    }
  }
}
