//===- ExecAttrs.td - enumerations of the exec dialect ------------------------------------------------------------===//
#ifndef P3D_EXEC_ATTRS
#define P3D_EXEC_ATTRS

include "dialects/Exec/ExecDialect.td"

// The numbers are those of p3d_axis in runtime.h.
def Exec_Group : I32EnumAttr<"Group", "which ranks take part", [
  I32EnumAttrCase<"TP", 0, "tp">, I32EnumAttrCase<"DP", 1, "dp">, I32EnumAttrCase<"PP", 2, "pp">,
  I32EnumAttrCase<"Tied", 3, "tied">, I32EnumAttrCase<"Norm", 4, "norm">]> {
  let cppNamespace = "::p3d::exec";
  let genSpecializedAttr = 0;
}
def Exec_GroupAttr : EnumAttr<Exec_Dialect, Exec_Group, "group">;

#endif
