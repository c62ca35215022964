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
  let summary = "prove that the partitioned program is right, whatever made it";
  let description = [{
    Guarantees that no reshard is left, that shards cover their dimension, that only gradients leave the program partial over tp, and, by a type for each value over each axis, that
    every operand holds the rows and the complete or partial values that its op needs, that every partial value is reduced exactly once, and that what is declared of arguments, results
    and blocks is so. README.md says how.
  }];
}

#endif
