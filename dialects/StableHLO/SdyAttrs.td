// Meshes and shardings as Shardy writes them:
//   #sdy.sharding<@mesh, [{"data"}, {"model":(2)4, ?}p1], replicated={"x"}, unreduced={"y"}>
#ifndef P3D_SDY_ATTRS
#define P3D_SDY_ATTRS

include "dialects/StableHLO/SdyDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Sdy_Attr<string name, string attrMnemonic, dag fields> : AttrDef<Sdy_Dialect, name> {
  let mnemonic = attrMnemonic;
  let parameters = fields;
  let hasCustomAssemblyFormat = 1;
}

def Sdy_MeshAxis : Sdy_Attr<"MeshAxis", "mesh_axis", (ins StringRefParameter<"axis">:$name, "int64_t":$size)> {
  let summary = "`\"data\"=8`";
}

def Sdy_Mesh : Sdy_Attr<"Mesh", "mesh", (ins ArrayRefParameter<"MeshAxisAttr">:$axes,
                                         ArrayRefParameter<"int64_t">:$device_ids)> {
  let summary = "`<[\"data\"=8, \"model\"=4], device_ids=[..]>`; device ids are left out when they count up from 0";
}

def Sdy_AxisRef : Sdy_Attr<"AxisRef", "axis_ref", (ins StringRefParameter<"axis">:$name, "int64_t":$pre_size,
                                                   "int64_t":$size)> {
  let summary = "`\"data\"`, or `\"data\":(pre_size)size` for a part of the axis; size is 0 for the whole axis";
  let extraClassDeclaration = [{
    /// True for `"data":(pre_size)size`.
    bool isSubAxis() const { return getSize() != 0; }
  }];
}

def Sdy_DimensionSharding
    : Sdy_Attr<"DimensionSharding", "dimension_sharding", (ins ArrayRefParameter<"AxisRefAttr">:$axes,
                                                           "bool":$is_closed, "std::optional<int64_t>":$priority)> {
  let summary = "`{\"data\", ?}p1`: axes from the major one on, `?` where propagation may add some, priority";
}

def Sdy_TensorSharding
    : Sdy_Attr<"TensorSharding", "sharding", (ins "::mlir::Attribute":$mesh_or_ref,
                                              ArrayRefParameter<"DimensionShardingAttr">:$dim_shardings,
                                              ArrayRefParameter<"AxisRefAttr">:$replicated_axes,
                                              ArrayRefParameter<"AxisRefAttr">:$unreduced_axes,
                                              StringRefParameter<"reduction">:$unreduced_kind)> {
  let summary = "how one tensor lies on a mesh";
  let description = [{
    `mesh_or_ref` is a symbol or a mesh. Over the unreduced axes every device holds a part that still has to be
    reduced: by the sum when `unreduced_kind` is empty, else by the reduction it names.
  }];
}

def Sdy_TensorShardingPerValue
    : Sdy_Attr<"TensorShardingPerValue", "sharding_per_value",
               (ins ArrayRefParameter<"TensorShardingAttr">:$shardings)> {
  let summary = "`<[<@mesh, [..]>, ..]>`: a sharding for each operand or result";
}

def Sdy_ManualAxes : Sdy_Attr<"ManualAxes", "manual_axes", (ins ArrayRefParameter<"::mlir::StringAttr">:$axes)> {
  let summary = "`{\"x\", \"y\"}`";
}

def Sdy_OpShardingRule : AttrDef<Sdy_Dialect, "OpShardingRule"> {
  let attrName = "sdy.op_sharding_rule";
  let summary = "a sharding rule that comes with an operation, kept as its text";
  let parameters = (ins StringRefParameter<"text between the angle brackets">:$rule);
}

def Sdy_PropagationDirection
    : I32EnumAttr<"PropagationDirection", "where a sharding may spread to",
                  [I32EnumAttrCase<"NONE", 0>, I32EnumAttrCase<"FORWARD", 1>, I32EnumAttrCase<"BACKWARD", 2>,
                   I32EnumAttrCase<"BOTH", 3>]> {
  let cppNamespace = "::p3d::sdy";
}

#endif // P3D_SDY_ATTRS
