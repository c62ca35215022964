//===- DistOps.td - changes of sharding and collectives -----------------------------------------------------------===//
#ifndef P3D_DIST_OPS
#define P3D_DIST_OPS

include "dialects/Dist/DistAttrs.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_Tensor : StaticShapeTensorOf<[AnyFloat, AnyInteger]>;

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, !listconcat([Pure], traits)>;

def Dist_ReshardOp : Dist_Op<"reshard", [SameOperandsAndResultType]> {
  let summary = "the same value under another sharding; gone after partition";
  let arguments = (ins Dist_Tensor:$operand, Dist_ShardingAttr:$from, Dist_ShardingAttr:$to, StrAttr:$reason);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$operand `from` $from `to` $to `why` $reason attr-dict `:` type($result)";
}

// A collective carries `reason`, why it exists, and moves data over one axis of the mesh. Local shapes.
class Dist_Collective<string mnemonic, list<Trait> traits = []> : Dist_Op<mnemonic, traits>;

def Dist_AllReduceOp : Dist_Collective<"all_reduce", [SameOperandsAndResultType]> {
  let summary = "each rank of the axis gets the reduction of all their operands; over several axes one after the other, the first first";
  let arguments = (ins Dist_ReduceKindAttr:$kind, Dist_Tensor:$operand, Dist_AxisAttr:$axis, StrAttr:$reason);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$kind $operand `over` $axis `why` $reason attr-dict `:` type($result)";
}
def Dist_AllGatherOp : Dist_Collective<"all_gather"> {
  let summary = "the shards of dimension `dim` put together: rank i supplies rows [i * chunk, (i + 1) * chunk), chunk the operand's size; C1: the result's size is above (n - 1) * chunk of a rank that has rows";
  let arguments = (ins Dist_Tensor:$operand, I64Attr:$dim, Dist_AxisAttr:$axis, StrAttr:$reason);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$operand `dim` $dim `over` $axis `why` $reason attr-dict `:` functional-type(operands, results)";
}
def Dist_ReduceScatterOp : Dist_Collective<"reduce_scatter"> {
  let summary = "all_reduce, then shard_slice of dimension `dim`";
  let arguments = (ins Dist_ReduceKindAttr:$kind, Dist_Tensor:$operand, I64Attr:$dim, Dist_AxisAttr:$axis, StrAttr:$reason);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$kind $operand `dim` $dim `over` $axis `why` $reason attr-dict `:` functional-type(operands, results)";
}
def Dist_AllToAllOp : Dist_Collective<"all_to_all"> {
  let summary = "all_gather of `gather_dim`, then shard_slice of `split_dim`";
  let arguments = (ins Dist_Tensor:$operand, I64Attr:$gather_dim, I64Attr:$split_dim, Dist_AxisAttr:$axis, StrAttr:$reason);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = [{ $operand `gather` $gather_dim `split` $split_dim `over` $axis `why` $reason attr-dict `:` functional-type(operands, results) }];
}

def Dist_ShardSliceOp : Dist_Op<"shard_slice"> {
  let summary = "this rank's (over mb: this microbatch's) rows of dimension `dim`: [i * chunk, (i + 1) * chunk), chunk the result's size; rows beyond the end are 0; no communication";
  let arguments = (ins Dist_Tensor:$operand, I64Attr:$dim, Dist_AxisAttr:$axis);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$operand `dim` $dim `over` $axis attr-dict `:` functional-type(operands, results)";
}
def Dist_MaskPaddingOp : Dist_Op<"mask_padding", [SameOperandsAndResultType]> {
  let summary = "the operand with the rows that lie beyond the end of the whole dimension (see shard) set to `value`";
  let arguments = (ins Dist_Tensor:$operand, Dist_ShardAttr:$shard, F64Attr:$value);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$operand $shard `value` $value attr-dict `:` type($result)";
}

#endif
