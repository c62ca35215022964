// Contractions, reductions, and indexed reads and writes. Ops without an assembly format exist in generic form only.
#ifndef P3D_STABLEHLO_COMPUTE_OPS
#define P3D_STABLEHLO_COMPUTE_OPS

include "dialects/StableHLO/StableHLOBase.td"

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def StableHLO_DotGeneralOp : StableHLO_PureOp<"dot_general"> {
  let summary = "product; result dimensions: batch, free of lhs, free of rhs";
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       StableHLO_DotDimensionNumbers:$dot_dimension_numbers,
                       OptionalAttr<StableHLO_PrecisionConfig>:$precision_config,
                       OptionalAttr<StableHLO_DotAlgorithm>:$algorithm);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers) ``
    custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm) attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_DotOp : StableHLO_PureOp<"dot"> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       OptionalAttr<StableHLO_PrecisionConfig>:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<PrecisionConfig>($precision_config) attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_ConvolutionOp : StableHLO_PureOp<"convolution"> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation, OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       StableHLO_ConvDimensionNumbers:$dimension_numbers,
                       I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       OptionalAttr<StableHLO_PrecisionConfig>:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,` `window` `=`
    `{` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation, $rhs_dilation, $window_reversal) `}`
    attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_EinsumOp : StableHLO_PureOp<"einsum"> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_UnaryEinsumOp : StableHLO_PureOp<"unary_einsum"> {
  let arguments = (ins StableHLO_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)";
}

def StableHLO_FftOp : StableHLO_PureOp<"fft"> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_FftTypeAttr:$fft_type, DenseI64ArrayAttr:$fft_length);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_CholeskyOp : StableHLO_PureOp<"cholesky"> {
  let arguments = (ins StableHLO_Tensor:$a, DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict `:` custom<SameOperandsAndResultType>(type($a), type($result))
  }];
}

def StableHLO_TriangularSolveOp : StableHLO_PureOp<"triangular_solve"> {
  let arguments = (ins StableHLO_Tensor:$a, StableHLO_Tensor:$b, BoolAttr:$left_side, BoolAttr:$lower,
                       BoolAttr:$unit_diagonal, StableHLO_TransposeAttr:$transpose_a);
  let results = (outs StableHLO_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Reductions: the region combines two values at a time
//===----------------------------------------------------------------------===//

class StableHLO_RegionOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlock], traits)> {
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Tensor>);
}

def StableHLO_ReduceOp : StableHLO_RegionOp<"reduce", [SameVariadicOperandSize]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def StableHLO_ReduceWindowOp : StableHLO_RegionOp<"reduce_window", [SameVariadicOperandSize]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations, OptionalAttr<I64ElementsAttr>:$padding);
  let hasVerifier = 1;
}

def StableHLO_SelectAndScatterOp : StableHLO_Op<"select_and_scatter", [RecursiveMemoryEffects]> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$source, StableHLO_Tensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_SortOp : StableHLO_RegionOp<"sort"> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
}

def StableHLO_MapOp : StableHLO_RegionOp<"map"> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
}

//===----------------------------------------------------------------------===//
// Indexed reads and writes
//===----------------------------------------------------------------------===//

def StableHLO_GatherOp : StableHLO_PureOp<"gather"> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$start_indices,
                       StableHLO_GatherDimensionNumbers:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_DynamicGatherOp : StableHLO_PureOp<"dynamic_gather"> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$start_indices, StableHLO_Tensor:$slice_sizes,
                       StableHLO_GatherDimensionNumbers:$dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_ScatterOp : StableHLO_RegionOp<"scatter", [SameVariadicOperandSize]> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_Tensor:$scatter_indices,
                       Variadic<StableHLO_Tensor>:$updates,
                       StableHLO_ScatterDimensionNumbers:$scatter_dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let hasVerifier = 1;
}

def StableHLO_TorchIndexSelectOp : StableHLO_PureOp<"torch_index_select"> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$index, I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs StableHLO_Tensor:$result);
}

#endif // P3D_STABLEHLO_COMPUTE_OPS
