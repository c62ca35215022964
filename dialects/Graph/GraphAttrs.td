//===- GraphAttrs.td - enumerations of the graph dialect ----------------------------------------------------------===//
#ifndef P3D_GRAPH_ATTRS
#define P3D_GRAPH_ATTRS

include "dialects/Graph/GraphDialect.td"

class Graph_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::p3d::graph";
  let genSpecializedAttr = 0;
}
class Graph_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Graph_Dialect, info, mnemonic>;

def Graph_ReduceKind : Graph_Enum<"ReduceKind", "how elements are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Prod", 3, "prod">, I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]>;
def Graph_ReduceKindAttr : Graph_EnumAttr<Graph_ReduceKind, "reduce">;

def Graph_ComparePredicate : Graph_Enum<"ComparePredicate", "an order", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">, I32EnumAttrCase<"Lt", 2, "lt">,
  I32EnumAttrCase<"Le", 3, "le">, I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;
def Graph_ComparePredicateAttr : Graph_EnumAttr<Graph_ComparePredicate, "compare">;

def Graph_GeluKind : Graph_Enum<"GeluKind", "which form of gelu", [
  I32EnumAttrCase<"Tanh", 0, "tanh">, I32EnumAttrCase<"Erf", 1, "erf">]>;
def Graph_GeluKindAttr : Graph_EnumAttr<Graph_GeluKind, "gelu">;

#endif
