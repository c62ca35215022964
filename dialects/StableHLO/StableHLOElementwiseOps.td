// Operations that work element by element, and those that make a tensor out of nothing.
#ifndef P3D_STABLEHLO_ELEMENTWISE_OPS
#define P3D_STABLEHLO_ELEMENTWISE_OPS

include "dialects/StableHLO/StableHLOBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

class StableHLO_UnaryOp<string mnemonic> : StableHLO_PureOp<mnemonic, [SameOperandsAndResultShape, Elementwise]> {
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))";
}

/// A function whose implementation `result_accuracy` can choose.
class StableHLO_FunctionOp<string mnemonic> : StableHLO_UnaryOp<mnemonic> {
  let arguments = (ins StableHLO_Tensor:$operand, OptionalAttr<StableHLO_ResultAccuracy>:$result_accuracy);
}

def StableHLO_AbsOp : StableHLO_UnaryOp<"abs">;
def StableHLO_CeilOp : StableHLO_UnaryOp<"ceil">;
def StableHLO_ConvertOp : StableHLO_UnaryOp<"convert">;
def StableHLO_ClzOp : StableHLO_UnaryOp<"count_leading_zeros">;
def StableHLO_FloorOp : StableHLO_UnaryOp<"floor">;
def StableHLO_ImagOp : StableHLO_UnaryOp<"imag">;
def StableHLO_NegOp : StableHLO_UnaryOp<"negate">;
def StableHLO_NotOp : StableHLO_UnaryOp<"not">;
def StableHLO_PopulationCountOp : StableHLO_UnaryOp<"popcnt">;
def StableHLO_RealOp : StableHLO_UnaryOp<"real">;
def StableHLO_RoundOp : StableHLO_UnaryOp<"round_nearest_afz">;
def StableHLO_RoundNearestEvenOp : StableHLO_UnaryOp<"round_nearest_even">;
def StableHLO_SignOp : StableHLO_UnaryOp<"sign">;

def StableHLO_CbrtOp : StableHLO_FunctionOp<"cbrt">;
def StableHLO_CosineOp : StableHLO_FunctionOp<"cosine">;
def StableHLO_ExpOp : StableHLO_FunctionOp<"exponential">;
def StableHLO_Expm1Op : StableHLO_FunctionOp<"exponential_minus_one">;
def StableHLO_LogOp : StableHLO_FunctionOp<"log">;
def StableHLO_Log1pOp : StableHLO_FunctionOp<"log_plus_one">;
def StableHLO_LogisticOp : StableHLO_FunctionOp<"logistic">;
def StableHLO_RsqrtOp : StableHLO_FunctionOp<"rsqrt">;
def StableHLO_SineOp : StableHLO_FunctionOp<"sine">;
def StableHLO_SqrtOp : StableHLO_FunctionOp<"sqrt">;
def StableHLO_TanOp : StableHLO_FunctionOp<"tan">;
def StableHLO_TanhOp : StableHLO_FunctionOp<"tanh">;

def StableHLO_IsFiniteOp : StableHLO_UnaryOp<"is_finite"> {
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

def StableHLO_ReducePrecisionOp : StableHLO_UnaryOp<"reduce_precision"> {
  let summary = "rounds to a float of `exponent_bits` and `mantissa_bits`, kept in the operand's type";
  let arguments = (ins StableHLO_Tensor:$operand, I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) attr-dict `:`
    custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

class StableHLO_BinaryOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_PureOp<mnemonic, !listconcat([SameOperandsAndResultShape, Elementwise], traits)> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<SameOperandsAndResultType>(type($lhs), type($rhs), type($result))
  }];
}

def StableHLO_AddOp : StableHLO_BinaryOp<"add", [Commutative]>;
def StableHLO_AndOp : StableHLO_BinaryOp<"and", [Commutative]>;
def StableHLO_Atan2Op : StableHLO_BinaryOp<"atan2">;
def StableHLO_DivOp : StableHLO_BinaryOp<"divide">;
def StableHLO_MaxOp : StableHLO_BinaryOp<"maximum", [Commutative]>;
def StableHLO_MinOp : StableHLO_BinaryOp<"minimum", [Commutative]>;
def StableHLO_MulOp : StableHLO_BinaryOp<"multiply", [Commutative]>;
def StableHLO_OrOp : StableHLO_BinaryOp<"or", [Commutative]>;
def StableHLO_PowOp : StableHLO_BinaryOp<"power">;
def StableHLO_RemOp : StableHLO_BinaryOp<"remainder">;
def StableHLO_ShiftLeftOp : StableHLO_BinaryOp<"shift_left">;
def StableHLO_ShiftRightArithmeticOp : StableHLO_BinaryOp<"shift_right_arithmetic">;
def StableHLO_ShiftRightLogicalOp : StableHLO_BinaryOp<"shift_right_logical">;
def StableHLO_SubtractOp : StableHLO_BinaryOp<"subtract">;
def StableHLO_XorOp : StableHLO_BinaryOp<"xor", [Commutative]>;

def StableHLO_ComplexOp : StableHLO_BinaryOp<"complex"> {
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<ComplexOpType>(type($lhs), type($rhs), type($result))";
}

def StableHLO_CompareOp : StableHLO_BinaryOp<"compare"> {
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       StableHLO_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<StableHLO_ComparisonTypeAttr>:$compare_type);
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_SelectOp : StableHLO_PureOp<"select"> {
  let arguments = (ins StableHLO_Tensor:$pred, StableHLO_Tensor:$on_true, StableHLO_Tensor:$on_false);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:` custom<SelectOpType>(type($pred), type($on_true), type($on_false), type($result))
  }];
}

def StableHLO_ClampOp : StableHLO_PureOp<"clamp"> {
  let arguments = (ins StableHLO_Tensor:$min, StableHLO_Tensor:$operand, StableHLO_Tensor:$max);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:`
    custom<SameOperandsAndResultType>(type($min), type($operand), type($max), type($result))
  }];
}

def StableHLO_ConstantOp : StableHLO_PureOp<"constant", [ConstantLike]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs StableHLO_Tensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def StableHLO_IotaOp : StableHLO_PureOp<"iota"> {
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs StableHLO_Tensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
}

class StableHLO_IdOp<string mnemonic> : StableHLO_PureOp<mnemonic> {
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
def StableHLO_ReplicaIdOp : StableHLO_IdOp<"replica_id">;
def StableHLO_PartitionIdOp : StableHLO_IdOp<"partition_id">;

def StableHLO_RngBitGeneratorOp : StableHLO_PureOp<"rng_bit_generator"> {
  let arguments = (ins StableHLO_RngAlgorithmAttr:$rng_algorithm, StableHLO_Tensor:$initial_state);
  let results = (outs StableHLO_Tensor:$output_state, StableHLO_Tensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_RngOp : StableHLO_Op<"rng"> {
  let arguments = (ins StableHLO_Tensor:$a, StableHLO_Tensor:$b, StableHLO_Tensor:$shape,
                       StableHLO_RngDistributionAttr:$rng_distribution);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict `:` functional-type(operands, results)
  }];
}

#endif // P3D_STABLEHLO_ELEMENTWISE_OPS
