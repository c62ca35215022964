// Operations of the dialect `sdy`. Shardy's own collectives exist only behind its partitioner and are not read.
#ifndef P3D_SDY_OPS
#define P3D_SDY_OPS

include "dialects/StableHLO/SdyAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Sdy_Op<string mnemonic, list<Trait> traits = []> : Op<Sdy_Dialect, mnemonic, traits>;
def Sdy_Tensor : RankedTensorOf<[AnyType]>;

def Sdy_MeshOp : Sdy_Op<"mesh", [Symbol]> {
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_Mesh:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

class Sdy_ReshardingOp<string mnemonic> : Sdy_Op<mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins Sdy_Tensor:$input, Sdy_TensorSharding:$sharding);
  let results = (outs Sdy_Tensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}
def Sdy_ShardingConstraintOp : Sdy_ReshardingOp<"sharding_constraint">;
def Sdy_ReshardOp : Sdy_ReshardingOp<"reshard">;

def Sdy_ShardingGroupOp : Sdy_Op<"sharding_group"> {
  let summary = "tensors of one group have one sharding";
  let arguments = (ins Sdy_Tensor:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}

def Sdy_PropagationBarrierOp : Sdy_Op<"propagation_barrier", [Pure, SameOperandsAndResultType]> {
  let arguments = (ins Sdy_Tensor:$input, Sdy_PropagationDirection:$allowed_direction);
  let results = (outs Sdy_Tensor:$result);
  let assemblyFormat = "$input `allowed_direction` `` `=` `` $allowed_direction attr-dict `:` type($input)";
}

def Sdy_ConstantOp : Sdy_Op<"constant", [Pure, ConstantLike]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Sdy_Tensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def Sdy_ReturnOp : Sdy_Op<"return", [Pure, Terminator]> {
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

class Sdy_RegionOp<string mnemonic> : Sdy_Op<mnemonic, [RecursiveMemoryEffects, SingleBlock]> {
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>);
}

def Sdy_ManualComputationOp : Sdy_RegionOp<"manual_computation"> {
  let summary = "a region written for one device along the manual axes";
  let arguments = (ins Variadic<AnyType>:$tensors, Sdy_TensorShardingPerValue:$in_shardings,
                       Sdy_TensorShardingPerValue:$out_shardings, Sdy_ManualAxes:$manual_axes);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `(` $tensors `)` `in_shardings` `` `=` `` custom<ShardingList>($in_shardings)
    `out_shardings` `` `=` `` custom<ShardingList>($out_shardings) `manual_axes` `` `=` `` $manual_axes
    custom<BodyWithArguments>($body) attr-dict `:` functional-type(operands, results)
  }];
}

def Sdy_NamedComputationOp : Sdy_RegionOp<"named_computation"> {
  let summary = "a region that carries a name";
  let arguments = (ins Variadic<AnyType>:$operands, StrAttr:$name,
                       OptionalAttr<Sdy_TensorShardingPerValue>:$in_shardings,
                       OptionalAttr<Sdy_TensorShardingPerValue>:$out_shardings);
  let assemblyFormat = [{
    `<` $name `>` `` `(` $operands `)` (`in_shardings` `` `=` `` custom<ShardingList>($in_shardings)^)?
    (`out_shardings` `` `=` `` custom<ShardingList>($out_shardings)^)?
    custom<BodyWithArguments>($body) attr-dict `:` functional-type(operands, results)
  }];
}

#endif // P3D_SDY_OPS
