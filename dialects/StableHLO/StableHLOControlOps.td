// Control flow, calls to what is not StableHLO, tuples and tokens.
#ifndef P3D_STABLEHLO_CONTROL_OPS
#define P3D_STABLEHLO_CONTROL_OPS

include "dialects/StableHLO/StableHLOBase.td"

def StableHLO_ReturnOp : StableHLO_PureOp<"return", [Terminator]> {
  let summary = "ends every region of the dialect";
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

class StableHLO_BranchOp<string mnemonic>
    : StableHLO_Op<mnemonic, [RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlock]> {
  let results = (outs Variadic<AnyType>);
}

def StableHLO_WhileOp : StableHLO_BranchOp<"while"> {
  let summary = "both regions take the carried values; `cond` yields tensor<i1>, `body` the next values";
  let arguments = (ins Variadic<AnyType>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def StableHLO_IfOp : StableHLO_BranchOp<"if"> {
  let arguments = (ins StableHLO_Tensor:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
}

def StableHLO_CaseOp : StableHLO_BranchOp<"case"> {
  let arguments = (ins StableHLO_Tensor:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
}

def StableHLO_OptimizationBarrierOp : StableHLO_PureOp<"optimization_barrier"> {
  let summary = "identity that must not be looked through; remat puts one in front of the recomputation";
  let arguments = (ins Variadic<AnyType>:$operand);
  let results = (outs Variadic<AnyType>:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseOpType>(type($operand), type($result))) : (`(` `)`)?
  }];
}

def StableHLO_CustomCallOp : StableHLO_Op<"custom_call"> {
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$call_target_name,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
                       OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr]>>:$backend_config,
                       OptionalAttr<I32Attr>:$api_version, OptionalAttr<ArrayAttr>:$called_computations,
                       OptionalAttr<ArrayAttr>:$operand_layouts, OptionalAttr<ArrayAttr>:$result_layouts,
                       OptionalAttr<ArrayAttr>:$output_operand_aliases, OptionalAttr<AnyAttr>:$result_tilings);
  let results = (outs Variadic<AnyType>);
  let assemblyFormat = [{
    custom<CustomCallTarget>($call_target_name) `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_CompositeOp : StableHLO_Op<"composite"> {
  let summary = "an operation by name, whose meaning is the function `decomposition`";
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$name,
                       OptionalAttr<DictionaryAttr>:$composite_attributes, FlatSymbolRefAttr:$decomposition,
                       OptionalAttr<I32Attr>:$version);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let results = (outs Variadic<AnyType>);
  let assemblyFormat = [{
    $name $inputs (`(` $composite_regions^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Tuples and tokens
//===----------------------------------------------------------------------===//

def StableHLO_TupleOp : StableHLO_PureOp<"tuple"> {
  let arguments = (ins Variadic<AnyType>:$val);
  let results = (outs AnyTuple:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleOpType>(type($val), type($result))";
}

def StableHLO_GetTupleElementOp : StableHLO_PureOp<"get_tuple_element"> {
  let arguments = (ins AnyTuple:$operand, I32Attr:$index);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
}

def StableHLO_CreateTokenOp : StableHLO_PureOp<"create_token"> {
  let results = (outs StableHLO_TokenType:$output);
  let assemblyFormat = "attr-dict `:` type($output)";
}

def StableHLO_AfterAllOp : StableHLO_PureOp<"after_all"> {
  let arguments = (ins Variadic<StableHLO_TokenType>:$inputs);
  let results = (outs StableHLO_TokenType:$result);
  let assemblyFormat = [{
    $inputs attr-dict `:`
    custom<VariadicSameOperandsAndResultType>(ref($inputs), type($inputs), type($result))
  }];
}

#endif // P3D_STABLEHLO_CONTROL_OPS
