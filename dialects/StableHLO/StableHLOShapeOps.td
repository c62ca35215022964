// Operations that move elements: broadcasts, reshapes, slices, pads, concatenation, and their dynamic forms.
#ifndef P3D_STABLEHLO_SHAPE_OPS
#define P3D_STABLEHLO_SHAPE_OPS

include "dialects/StableHLO/StableHLOBase.td"

/// `%x, KEYWORD = [..] A : FN`.
class StableHLO_DimsOp<string mnemonic, string keyword, string attrName, dag fields>
    : StableHLO_PureOp<mnemonic> {
  let arguments = !con((ins StableHLO_Tensor:$operand), fields);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand `,` `" # keyword # "` `=` $" # attrName
                       # " attr-dict `:` functional-type(operands, results)";
}
def StableHLO_BroadcastInDimOp
    : StableHLO_DimsOp<"broadcast_in_dim", "dims", "broadcast_dimensions",
                       (ins DenseI64ArrayAttr:$broadcast_dimensions)>;
def StableHLO_BroadcastOp
    : StableHLO_DimsOp<"broadcast", "sizes", "broadcast_sizes", (ins DenseI64ArrayAttr:$broadcast_sizes)>;
def StableHLO_TransposeOp
    : StableHLO_DimsOp<"transpose", "dims", "permutation", (ins DenseI64ArrayAttr:$permutation)>;
def StableHLO_GetDimensionSizeOp
    : StableHLO_DimsOp<"get_dimension_size", "dim", "dimension", (ins I64Attr:$dimension)>;
def StableHLO_DynamicIotaOp
    : StableHLO_DimsOp<"dynamic_iota", "dim", "iota_dimension", (ins I64Attr:$iota_dimension)>;

def StableHLO_ReverseOp : StableHLO_PureOp<"reverse", [SameOperandsAndResultShape]> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:`
    custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

/// `%a, ... A : FN`.
class StableHLO_PlainOp<string mnemonic, dag operands> : StableHLO_PureOp<mnemonic> {
  let arguments = operands;
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def StableHLO_ReshapeOp : StableHLO_PlainOp<"reshape", (ins StableHLO_Tensor:$operand)>;
def StableHLO_BitcastConvertOp : StableHLO_PlainOp<"bitcast_convert", (ins StableHLO_Tensor:$operand)>;
def StableHLO_DynamicUpdateSliceOp
    : StableHLO_PlainOp<"dynamic_update_slice", (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$update,
                                                     Variadic<StableHLO_Tensor>:$start_indices)>;
def StableHLO_DynamicReshapeOp
    : StableHLO_PlainOp<"dynamic_reshape", (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$output_shape)>;
def StableHLO_RealDynamicSliceOp
    : StableHLO_PlainOp<"real_dynamic_slice", (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$start_indices,
                                                   StableHLO_Tensor:$limit_indices, StableHLO_Tensor:$strides)>;
def StableHLO_DynamicPadOp
    : StableHLO_PlainOp<"dynamic_pad", (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$padding_value,
                                            StableHLO_Tensor:$edge_padding_low, StableHLO_Tensor:$edge_padding_high,
                                            StableHLO_Tensor:$interior_padding)>;

def StableHLO_DynamicBroadcastInDimOp : StableHLO_PureOp<"dynamic_broadcast_in_dim"> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$output_dimensions,
                       DenseI64ArrayAttr:$broadcast_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_SetDimensionSizeOp : StableHLO_PureOp<"set_dimension_size"> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$size, I64Attr:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_SliceOp : StableHLO_PureOp<"slice"> {
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
                       DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_DynamicSliceOp : StableHLO_PureOp<"dynamic_slice"> {
  let arguments = (ins StableHLO_Tensor:$operand, Variadic<StableHLO_Tensor>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<OperandsBeforeKeyword>($start_indices) `sizes` `=` $slice_sizes attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_PadOp : StableHLO_PureOp<"pad"> {
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$padding_value,
                       DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
                       DenseI64ArrayAttr:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,`
    `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_ConcatenateOp : StableHLO_PureOp<"concatenate"> {
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    custom<OperandsBeforeKeyword>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

#endif // P3D_STABLEHLO_SHAPE_OPS
