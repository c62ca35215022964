//===- DistAttrs.td - shardings -----------------------------------------------------------------------------------===//
#ifndef P3D_DIST_ATTRS
#define P3D_DIST_ATTRS

include "dialects/Dist/DistDialect.td"

class Dist_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::p3d::dist";
  let genSpecializedAttr = 0;
}

// The numbers of axes in space are those of p3d_axis in runtime.h. tp is tp_major x tp_minor.
def Dist_Axis : Dist_Enum<"Axis", "an axis of the mesh, a part of one, or microbatches as an axis in time", [
  I32EnumAttrCase<"TP", 0, "tp">, I32EnumAttrCase<"DP", 1, "dp">, I32EnumAttrCase<"PP", 2, "pp">, I32EnumAttrCase<"MB", 3, "mb">,
  I32EnumAttrCase<"TPMajor", 5, "tp_major">, I32EnumAttrCase<"TPMinor", 6, "tp_minor">]>;
def Dist_AxisAttr : EnumAttr<Dist_Dialect, Dist_Axis, "axis">;

def Dist_ReduceKind : Dist_Enum<"ReduceKind", "how partial values are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Prod", 3, "prod">, I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]>;
def Dist_ReduceKindAttr : EnumAttr<Dist_Dialect, Dist_ReduceKind, "reduce">;

class Dist_Attr<string name, string mnem> : AttrDef<Dist_Dialect, name> { let mnemonic = mnem; }

def Dist_MeshAttr : Dist_Attr<"Mesh", "mesh"> {
  let summary = "sizes of the axes; mb is the number of microbatches of a step; tp falls into tp / tp_minor groups of tp_minor neighbours";
  let parameters = (ins "int64_t":$tp, "int64_t":$pp, "int64_t":$dp, "int64_t":$mb, DefaultValuedParameter<"int64_t", "1">:$tp_minor);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    int64_t getSize(Axis axis) const;
    int64_t getRanks() const { return getTp() * getPp() * getDp(); }
  }];
}

def Dist_ShardingAttr : Dist_Attr<"Sharding", "sharding"> {
  let summary = "where the parts of a tensor live: `[{dp,mb},{tp:16},{}] unreduced{dp}`";
  let description = [{
    For each dimension the axes that cut it, the major one first, and the rows of a shard (`:chunk`, left out where the axes divide the dimension). Shard i
    holds rows [i * chunk, (i + 1) * chunk), cut at the end: the last shards may hold fewer, or none. Over an `unreduced` axis each rank holds a partial value,
    the value being their `reduce` (a sum unless said). Over any other axis the tensor is replicated. C1: an axis stands once.
    Where a dimension has fewer parts than tp, it may be cut over `tp_major` alone: the ranks of a group of `tp_minor` neighbours hold the same part.
  }];
  let parameters = (ins ArrayRefParameter<"::p3d::dist::DimSharding">:$dims, ArrayRefParameter<"::p3d::dist::Axis">:$unreduced,
                        "::p3d::dist::ReduceKind":$reduce);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ShardingAttr replicated(::mlir::MLIRContext *context, unsigned rank);
    /// Over a part of tp also what is unreduced, or cut, over the whole.
    bool isUnreduced(Axis axis) const;
    /// The dimension that `axis` cuts, or -1.
    int dimOf(Axis axis) const;
    bool isReplicated() const;
    /// Shape of a shard of a tensor of shape `global` on `mesh`.
    ::llvm::SmallVector<int64_t> localShape(::llvm::ArrayRef<int64_t> global, MeshAttr mesh) const;
  }];
}

def Dist_ShardAttr : Dist_Attr<"Shard", "shard"> {
  let summary = "on an op that depends on positions: dimension `dim` of size `full` is cut over `axes` into parts of `chunk` rows";
  let parameters = (ins "int64_t":$dim, ArrayRefParameter<"::p3d::dist::Axis">:$axes, "int64_t":$chunk, "int64_t":$full);
  let hasCustomAssemblyFormat = 1;
}

#endif
