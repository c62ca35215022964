// The structured attributes of StableHLO: `#stablehlo.NAME<field = value, ...>`, fields in any order, an empty list or
// a zero left out.
#ifndef P3D_STABLEHLO_ATTRS
#define P3D_STABLEHLO_ATTRS

include "dialects/StableHLO/StableHLOEnums.td"
include "mlir/IR/AttrTypeBase.td"

class StableHLO_Attr<string name, string attrMnemonic> : AttrDef<StableHLO_Dialect, name> {
  let mnemonic = attrMnemonic;
}

class StableHLO_StructAttr<string name, string attrMnemonic, dag fields> : StableHLO_Attr<name, attrMnemonic> {
  let parameters = fields;
  let assemblyFormat = "`<` struct(params) `>`";
}

/// `[1, 2]`; empty when the field is absent.
def StableHLO_Dims : OptionalArrayRefParameter<"int64_t", "dimensions"> {
  let parser = "::p3d::stablehlo::parseDims($_parser)";
  let printer = "::p3d::stablehlo::printDims($_printer, $_self)";
}
def StableHLO_Int : DefaultValuedParameter<"int64_t", "0">;
def StableHLO_Bool : AttrParameter<"bool", "truth value"> {
  let parser = "::p3d::stablehlo::parseBool($_parser)";
  let printer = "$_printer << ($_self ? \"true\" : \"false\")";
}
def StableHLO_Float : AttrParameter<"::llvm::APFloat", "tolerance"> {
  let comparator = "$_lhs.bitwiseIsEqual($_rhs)";
  let defaultValue = "::llvm::APFloat(0.0)";
  let parser = "::p3d::stablehlo::parseDouble($_parser)";
  let printer = "$_printer.printFloat($_self)";
}

def StableHLO_GatherDimensionNumbers : StableHLO_StructAttr<"GatherDimensionNumbers", "gather", (ins
    StableHLO_Dims:$offset_dims, StableHLO_Dims:$collapsed_slice_dims, StableHLO_Dims:$operand_batching_dims,
    StableHLO_Dims:$start_indices_batching_dims, StableHLO_Dims:$start_index_map, StableHLO_Int:$index_vector_dim)>;

def StableHLO_ScatterDimensionNumbers : StableHLO_StructAttr<"ScatterDimensionNumbers", "scatter", (ins
    StableHLO_Dims:$update_window_dims, StableHLO_Dims:$inserted_window_dims, StableHLO_Dims:$input_batching_dims,
    StableHLO_Dims:$scatter_indices_batching_dims, StableHLO_Dims:$scatter_dims_to_operand_dims,
    StableHLO_Int:$index_vector_dim)>;

def StableHLO_DotDimensionNumbers : StableHLO_StructAttr<"DotDimensionNumbers", "dot", (ins
    StableHLO_Dims:$lhs_batching_dimensions, StableHLO_Dims:$rhs_batching_dimensions,
    StableHLO_Dims:$lhs_contracting_dimensions, StableHLO_Dims:$rhs_contracting_dimensions)>;

def StableHLO_DotAlgorithm : StableHLO_StructAttr<"DotAlgorithm", "dot_algorithm", (ins
    "::mlir::Type":$lhs_precision_type, "::mlir::Type":$rhs_precision_type, "::mlir::Type":$accumulation_type,
    "int64_t":$lhs_component_count, "int64_t":$rhs_component_count, "int64_t":$num_primitive_operations,
    StableHLO_Bool:$allow_imprecise_accumulation)>;

def StableHLO_ResultAccuracy : StableHLO_StructAttr<"ResultAccuracy", "result_accuracy", (ins
    StableHLO_Float:$atol, StableHLO_Float:$rtol, StableHLO_Int:$ulps, "::mlir::Attribute":$mode)>;

def StableHLO_ChannelHandle : StableHLO_StructAttr<"ChannelHandle", "channel_handle", (ins
    StableHLO_Int:$handle, StableHLO_Int:$type)>;

def StableHLO_OutputOperandAlias : StableHLO_StructAttr<"OutputOperandAlias", "output_operand_alias", (ins
    StableHLO_Dims:$output_tuple_indices, StableHLO_Int:$operand_index, StableHLO_Dims:$operand_tuple_indices)>;

def StableHLO_ReplicaGroupMeshAxes
    : StableHLO_StructAttr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes", (ins
    "::mlir::Attribute":$mesh, "::mlir::ArrayAttr":$axes)> {
  let summary = "the groups that the named axes of a mesh span";
}

def StableHLO_AxisRef : StableHLO_Attr<"AxisRef", "axis_ref"> {
  let summary = "a mesh axis, or the part of it after `pre_size` of the given size (0: the whole axis)";
  let parameters = (ins StringRefParameter<"axis">:$name, "int64_t":$pre_size, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ConvDimensionNumbers : StableHLO_Attr<"ConvDimensionNumbers", "conv"> {
  let summary = "`<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>`: where batch, feature and spatial dimensions lie";
  let parameters = (ins "int64_t":$input_batch, "int64_t":$input_feature, StableHLO_Dims:$input_spatial,
    "int64_t":$kernel_input, "int64_t":$kernel_output, StableHLO_Dims:$kernel_spatial,
    "int64_t":$output_batch, "int64_t":$output_feature, StableHLO_Dims:$output_spatial);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_BoundList : ArrayRefParameter<"int64_t", "bounds, kDynamic where there is none"> {
  let parser = "::p3d::stablehlo::parseBounds($_parser)";
  let printer = "::p3d::stablehlo::printBounds($_printer, $_self)";
}
def StableHLO_Bounds : StableHLO_Attr<"Bounds", "bounds"> {
  let summary = "upper bounds of a tensor's dynamic dimensions, as its encoding";
  let parameters = (ins StableHLO_BoundList:$bounds);
  let assemblyFormat = "`<` $bounds `>`";
}

#endif // P3D_STABLEHLO_ATTRS
