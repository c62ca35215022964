//===- Passes.td - passes of the shard level ----------------------------------------------------------------------===//
#ifndef P3D_SHARD_PASSES
#define P3D_SHARD_PASSES

include "mlir/Pass/PassBase.td"

def SplitPrologue : Pass<"p3d-split-prologue", "mlir::ModuleOp"> {
  let summary = "gather the program's parameter-independent operations in two blocks";
  let description = [{
    Needs a program whose parameter-dependent operations stand in blocks. What lacks the batch dimension (the mask's count, rope tables) goes to block
    `@prologue`, which works once a step on the whole batch; what has it and is used by several calls (masks) goes to `@shared`, one
    microbatch at a time.

        %n = graph.reduce sum %mask dims [0]   ->   %n = graph.call @prologue(%mask)
  }];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

def ExpandCrossEntropy : Pass<"p3d-expand-cross-entropy", "mlir::ModuleOp"> {
  let summary = "split softmax_cross_entropy around its two reductions, so that its vocabulary may be cut";
  let description = [{
        %loss, %max, %sum = graph.softmax_cross_entropy %logits, %targets
    ->  %max = graph.cross_entropy_max %logits
        %sum, %target = graph.cross_entropy_sum %logits, %targets, %max
        %loss = log(%sum) + %max - %target
  }];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

def SumProductsFirst : Pass<"p3d-sum-products-first", "mlir::ModuleOp"> {
  let summary = "add up what matrix products contribute to a sum before the rest";
  let description = [{
    Products whose inner dimension is cut leave partial sums, which one reduction completes if nothing complete comes between them: the gradient of what queries, keys and values are
    made of, where a residual is added too.

        %1 = graph.add %residual, %q; %2 = graph.add %1, %k   ->   %1 = graph.add %q, %k; %2 = graph.add %1, %residual
  }];
  let dependentDialects = ["::p3d::graph::GraphDialect"];
}

def PropagateShardings : Pass<"p3d-propagate-shardings", "mlir::ModuleOp"> {
  let summary = "choose what tp cuts, give every value a sharding, and make every change of sharding an explicit reshard";
  let description = [{
    Needs a training step in blocks, and the mesh. Guarantees `dist.mesh` on the module, `dist.sharding` on arguments and results, `dist.shardings` on every operation, and that operands
    lie as their operation needs them. Without annotations the classes of dimensions that tp cuts are searched for; a user's sharding of an argument decides its classes.

        %o = graph.einsum "bf,fd->bd" %a, %down        %o = graph.einsum ... with the sharding [{dp,mb:2},{} ] unreduced{tp}
        %y = graph.add %x, %o                      ->  %r = dist.reshard %o from .. to [{dp,mb:2},{} ] why ".."
                                                       %y = graph.add %x, %r
  }];
  let dependentDialects = ["::p3d::dist::DistDialect"];
  let options = [
    Option<"tp", "tp", "int64_t", "1", "size of the tensor-parallel axis">,
    Option<"pp", "pp", "int64_t", "1", "number of stages">,
    Option<"dp", "dp", "int64_t", "1", "number of replicas">,
    Option<"microbatches", "microbatches", "int64_t", "1", "microbatches per replica and step; 0: 1 without a pipeline, else the largest divisor of the replica's batch not above 2 x pp">,
    Option<"cutSequence", "cut-sequence", "std::string", "\"auto\"", "whether tp cuts the sequence, dimension 1 of the integer inputs: auto, on or off">,
    Option<"linkBytesPerSecond", "link-bytes-per-second", "double", "2.35e11", "what a rank sends to its peers on tp">,
    Option<"linkLatencySeconds", "link-latency-seconds", "double", "3e-6", "from the call of one message to its first byte">,
    Option<"memoryBytesPerSecond", "memory-bytes-per-second", "double", "1.6e12", "what a rank reads from its own memory">,
    Option<"plan", "plan", "std::string", "\"\"", "file of a plan.json to obey">];
}

def ShareGathers : Pass<"p3d-share-gathers", "mlir::ModuleOp"> {
  let summary = "no gather behind element-wise operations on values that another use has gathered";
  let description = [{
    A value that tp cuts is gathered for one use, and what element-wise operations make of its parts for another. The second gather goes: the operations are done on the whole value, where
    all of their operands are whole without a collective (constants, masks of replicated numbers).

        %w = gather %x
        %m = graph.select %p, %x, %zero      ->      %g = graph.select %whole_p, %w, %whole_zero
        %g = gather %m
  }];
  let dependentDialects = ["::p3d::dist::DistDialect"];
}

def MergeReshards : Pass<"p3d-merge-reshards", "mlir::ModuleOp"> {
  let summary = "small partial values that are ready together are completed together";
  let description = [{
    The loss needs two sums of each token over the vocabulary:

        %a = complete %x             %both = graph.concat of %x and %y, each as one row
        %b = complete %y      ->     %sums = complete %both
                                     %a, %b = its rows

    A reshard waits for a later one of the same type and shardings where nothing between them needs its result. Large ones, whose time is that of their bytes, stay apart.
  }];
  let dependentDialects = ["::p3d::dist::DistDialect", "::p3d::graph::GraphDialect"];
}

def VerifyShardings : Pass<"p3d-verify-shardings", "mlir::ModuleOp"> {
  let summary = "the invariant of the shard level: every value has a sharding and every operation's operands agree with its factors";
}

#endif
