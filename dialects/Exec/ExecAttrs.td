//===- ExecAttrs.td - enumerations of the exec dialect ------------------------------------------------------------===//
#ifndef P3D_EXEC_ATTRS
#define P3D_EXEC_ATTRS

include "dialects/Exec/ExecDialect.td"

// The numbers are those of p3d_axis in runtime.h.
def Exec_Group : I32EnumAttr<"Group", "which ranks take part", [
  I32EnumAttrCase<"TP", 0, "tp">, I32EnumAttrCase<"DP", 1, "dp">, I32EnumAttrCase<"PP", 2, "pp">,
  I32EnumAttrCase<"Tied", 3, "tied">, I32EnumAttrCase<"Norm", 4, "norm">,
  I32EnumAttrCase<"TPMajor", 5, "tp_major">, I32EnumAttrCase<"TPMinor", 6, "tp_minor">]> {
  let cppNamespace = "::p3d::exec";
  let genSpecializedAttr = 0;
}
def Exec_GroupAttr : EnumAttr<Exec_Dialect, Exec_Group, "group">;

// The numbers are those of runtime.h. Transfers to later stages and from earlier ones are on `forward`, the others on `backward`: two directions cannot block each other.
def Exec_Stream : I32EnumAttr<"Stream", "what is done in order", [
  I32EnumAttrCase<"Compute", 0, "compute">, I32EnumAttrCase<"TP", 1, "tp">, I32EnumAttrCase<"DP", 2, "dp">, I32EnumAttrCase<"Forward", 3, "forward">,
  I32EnumAttrCase<"Backward", 4, "backward">, I32EnumAttrCase<"Tied", 5, "tied">, I32EnumAttrCase<"Norm", 6, "norm">,
  I32EnumAttrCase<"TurnedForward", 7, "turned_forward">, I32EnumAttrCase<"TurnedBackward", 8, "turned_backward">]> {
  let cppNamespace = "::p3d::exec";
  let genSpecializedAttr = 0;
}
def Exec_StreamAttr : EnumAttr<Exec_Dialect, Exec_Stream, "stream">;

// The numbers are those of p3d_epilogue in Kernels.h.
def Exec_Epilogue : I32EnumAttr<"Epilogue", "what is done with a product before it is stored, or beside it", [
  I32EnumAttrCase<"Bias", 1, "bias">, I32EnumAttrCase<"BiasGelu", 2, "bias_gelu">, I32EnumAttrCase<"GeluGrad", 3, "gelu_grad">,
  I32EnumAttrCase<"SumLhs", 4, "sum_lhs">, I32EnumAttrCase<"SumRhs", 5, "sum_rhs">]> {
  let cppNamespace = "::p3d::exec";
  let genSpecializedAttr = 0;
}
def Exec_EpilogueAttr : EnumAttr<Exec_Dialect, Exec_Epilogue, "epilogue">;

#endif
