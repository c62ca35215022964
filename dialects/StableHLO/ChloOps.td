// The dialect `chlo`: functions that exporters leave undecomposed, and operations with implicit broadcasting.
#ifndef P3D_CHLO_OPS
#define P3D_CHLO_OPS

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let summary = "functions and broadcasting operations over StableHLO";
  let cppNamespace = "::p3d::chlo";
  let useDefaultAttributePrinterParser = 1;
}

class Chlo_Enum<string name, string description, list<string> names>
    : I32EnumAttr<name, description, !foreach(i, !range(!size(names)), I32EnumAttrCase<names[i], i>)> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::p3d::chlo";
}
def Chlo_ComparisonDirection
    : Chlo_Enum<"ComparisonDirection", "relation that is tested", ["EQ", "NE", "GE", "GT", "LE", "LT"]>;
def Chlo_ComparisonDirectionAttr : EnumAttr<Chlo_Dialect, Chlo_ComparisonDirection, "comparison_direction">;
def Chlo_ComparisonType
    : Chlo_Enum<"ComparisonType", "how the compared elements are understood",
                ["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]>;
def Chlo_ComparisonTypeAttr : EnumAttr<Chlo_Dialect, Chlo_ComparisonType, "comparison_type">;

class Chlo_Op<string mnemonic, list<Trait> traits = []> : Op<Chlo_Dialect, mnemonic, !listconcat([Pure], traits)>;
def Chlo_Tensor : RankedTensorOf<[AnyType]>;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

class Chlo_UnaryOp<string mnemonic> : Chlo_Op<mnemonic, [SameOperandsAndResultShape, Elementwise]> {
  let arguments = (ins Chlo_Tensor:$operand);
  let results = (outs Chlo_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}
def Chlo_AcosOp : Chlo_UnaryOp<"acos">;
def Chlo_AcoshOp : Chlo_UnaryOp<"acosh">;
def Chlo_AsinOp : Chlo_UnaryOp<"asin">;
def Chlo_AsinhOp : Chlo_UnaryOp<"asinh">;
def Chlo_AtanOp : Chlo_UnaryOp<"atan">;
def Chlo_AtanhOp : Chlo_UnaryOp<"atanh">;
def Chlo_BesselI1eOp : Chlo_UnaryOp<"bessel_i1e">;
def Chlo_ConjOp : Chlo_UnaryOp<"conj">;
def Chlo_CoshOp : Chlo_UnaryOp<"cosh">;
def Chlo_DigammaOp : Chlo_UnaryOp<"digamma">;
def Chlo_ErfInvOp : Chlo_UnaryOp<"erf_inv">;
def Chlo_ErfOp : Chlo_UnaryOp<"erf">;
def Chlo_ErfcOp : Chlo_UnaryOp<"erfc">;
def Chlo_IsInfOp : Chlo_UnaryOp<"is_inf">;
def Chlo_IsNegInfOp : Chlo_UnaryOp<"is_neg_inf">;
def Chlo_IsPosInfOp : Chlo_UnaryOp<"is_pos_inf">;
def Chlo_LgammaOp : Chlo_UnaryOp<"lgamma">;
def Chlo_SinhOp : Chlo_UnaryOp<"sinh">;
def Chlo_SquareOp : Chlo_UnaryOp<"square">;
def Chlo_TanOp : Chlo_UnaryOp<"tan">;

def Chlo_TopKOp : Chlo_Op<"top_k"> {
  let summary = "the k largest elements of the last dimension, in falling order, and their indices";
  let arguments = (ins Chlo_Tensor:$operand, I64Attr:$k, DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let results = (outs Chlo_Tensor:$values, Chlo_Tensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:`
    type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
}

def Chlo_ConstantOp : Chlo_Op<"constant", [ConstantLike]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Chlo_Tensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def Chlo_ConstantLikeOp : Chlo_Op<"constant_like"> {
  let summary = "a scalar in the shape of the operand";
  let arguments = (ins TypedAttrInterface:$value, Chlo_Tensor:$operand);
  let results = (outs Chlo_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Two operands, of equal shape or broadcast against each other
//===----------------------------------------------------------------------===//

class Chlo_BinaryOp<string mnemonic> : Chlo_Op<mnemonic> {
  let arguments = (ins Chlo_Tensor:$lhs, Chlo_Tensor:$rhs);
  let results = (outs Chlo_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}
def Chlo_NextAfterOp : Chlo_BinaryOp<"next_after">;
def Chlo_PolygammaOp : Chlo_BinaryOp<"polygamma">;
def Chlo_ZetaOp : Chlo_BinaryOp<"zeta">;

class Chlo_BroadcastOp<string mnemonic> : Chlo_Op<"broadcast_" # mnemonic> {
  let arguments = (ins Chlo_Tensor:$lhs, Chlo_Tensor:$rhs, OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions);
  let results = (outs Chlo_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}
def Chlo_BroadcastAddOp : Chlo_BroadcastOp<"add">;
def Chlo_BroadcastAndOp : Chlo_BroadcastOp<"and">;
def Chlo_BroadcastAtan2Op : Chlo_BroadcastOp<"atan2">;
def Chlo_BroadcastComplexOp : Chlo_BroadcastOp<"complex">;
def Chlo_BroadcastDivOp : Chlo_BroadcastOp<"divide">;
def Chlo_BroadcastMaxOp : Chlo_BroadcastOp<"maximum">;
def Chlo_BroadcastMinOp : Chlo_BroadcastOp<"minimum">;
def Chlo_BroadcastMulOp : Chlo_BroadcastOp<"multiply">;
def Chlo_BroadcastNextAfterOp : Chlo_BroadcastOp<"next_after">;
def Chlo_BroadcastOrOp : Chlo_BroadcastOp<"or">;
def Chlo_BroadcastPolygammaOp : Chlo_BroadcastOp<"polygamma">;
def Chlo_BroadcastPowOp : Chlo_BroadcastOp<"power">;
def Chlo_BroadcastRemOp : Chlo_BroadcastOp<"remainder">;
def Chlo_BroadcastShiftLeftOp : Chlo_BroadcastOp<"shift_left">;
def Chlo_BroadcastShiftRightArithmeticOp : Chlo_BroadcastOp<"shift_right_arithmetic">;
def Chlo_BroadcastShiftRightLogicalOp : Chlo_BroadcastOp<"shift_right_logical">;
def Chlo_BroadcastSubOp : Chlo_BroadcastOp<"subtract">;
def Chlo_BroadcastXorOp : Chlo_BroadcastOp<"xor">;
def Chlo_BroadcastZetaOp : Chlo_BroadcastOp<"zeta">;

def Chlo_BroadcastCompareOp : Chlo_BroadcastOp<"compare"> {
  let arguments = (ins Chlo_Tensor:$lhs, Chlo_Tensor:$rhs, OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions,
                       Chlo_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<Chlo_ComparisonTypeAttr>:$compare_type);
}

def Chlo_BroadcastSelectOp : Chlo_BroadcastOp<"select"> {
  let arguments = (ins Chlo_Tensor:$pred, Chlo_Tensor:$on_true, Chlo_Tensor:$on_false);
}

#endif // P3D_CHLO_OPS
