//===- Passes.td - passes of the partition level ------------------------------------------------------------------===//
#ifndef P3D_PARTITION_PASSES
#define P3D_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def Partition : Pass<"p3d-partition", "mlir::ModuleOp"> {
  let summary = "make types local and turn every reshard into collectives";
  let description = [{
    Needs the invariant of the shard level. Guarantees local types everywhere, `dist.shard` on operations that depend on positions of a cut dimension, padding masked before it is
    reduced, and no reshard. Arguments and results of the program keep `dist.sharding`, and their type before in `dist.global_type`.

        %r = dist.reshard %o from [{},{} ] unreduced{tp} to [{},{} ] : tensor<8x16xf32>
    ->  %r = dist.all_reduce sum %o over tp : tensor<8x16xf32>
  }];
  let dependentDialects = ["::p3d::dist::DistDialect", "::p3d::graph::GraphDialect"];
}

def VerifyPartition : Pass<"p3d-verify-partition", "mlir::ModuleOp"> {
  let summary = "the invariant of the partition level: no reshard, shards that cover their dimension, and partial sums over tp only where a gradient leaves the program";
}

#endif
