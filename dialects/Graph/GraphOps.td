//===- GraphOps.td - operations of the graph dialect --------------------------------------------------------------===//
//
// Structure, generic tensor operations, named operations and their gradients.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef P3D_GRAPH_OPS
#define P3D_GRAPH_OPS

include "dialects/Graph/GraphAttrs.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Graph_Tensor : StaticShapeTensorOf<[AnyFloat, AnyInteger]>;
def Graph_FloatTensor : StaticShapeTensorOf<[AnyFloat]>;
def Graph_IntTensor : StaticShapeTensorOf<[AnyInteger]>;
def Graph_BoolTensor : StaticShapeTensorOf<[I1]>;

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, traits>;
class Graph_PureOp<string mnemonic, list<Trait> traits = []> : Graph_Op<mnemonic, !listconcat([Pure], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

//===--------------------------------------------------------------------------------------------------------------===//
// Structure
//===--------------------------------------------------------------------------------------------------------------===//

class Graph_FunctionOp<string mnemonic> : Graph_Op<mnemonic, [
    FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope]> {
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Graph_ProgramOp : Graph_FunctionOp<"program"> {
  let summary = "the loss function, and after autodiff the training step";
  let description = [{
    Arguments carry `graph.name` (the user's name: `params.h0.attn.w`), `graph.role` ("param", "frozen", "input", "buffer", "key", after
    autodiff "loss_scale"), and, where one parameter of the user comes as several arguments (layers of a stack, q|k|v), `graph.global_shape` (array<i64>, the
    user's tensor) and `graph.piece_offset` and `graph.piece_shape` (array<i64>, the part that this argument holds, unit dimensions may be dropped in the
    argument's type). Results carry `graph.name`; the first is the loss, the others metrics, after autodiff gradients `grads.*`.
  }];
}

def Graph_BlockOp : Graph_FunctionOp<"block"> {
  let summary = "a repeated layer, or the part before or after the layers";
  let description = [{
    A forward block made by autodiff has `graph.saves = n`: its last n results are values kept for the backward block. `graph.backward_of = @fwd`
    names the forward block of a backward one; where the gradients of weights are computed for themselves, `graph.weight_gradient_of = @fwd` that of theirs.
  }];
}

def Graph_CallOp : Graph_Op<"call", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one application of a block; `layer` numbers the layers in the order of the chain";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Graph_Tensor>:$inputs, OptionalAttr<I64Attr>:$layer);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
  let extraClassDeclaration = [{
    /// The block that is called: a symbol of the module, from inside a stage too.
    BlockOp lookupBlock();
  }];
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a program or a block";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===--------------------------------------------------------------------------------------------------------------===//
// Element-wise operations
//===--------------------------------------------------------------------------------------------------------------===//

def Graph_ElementwiseTrait : NativeOpTrait<"Elementwise"> { let cppNamespace = "::p3d::graph"; }

class Graph_Elementwise<string mnemonic, list<Trait> traits = []>
    : Graph_PureOp<mnemonic, !listconcat([Graph_ElementwiseTrait], traits)>;

class Graph_Unary<string mnemonic, string text, TypeConstraint type = Graph_Tensor>
    : Graph_Elementwise<mnemonic, [SameOperandsAndResultType]> {
  let summary = text;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
class Graph_Binary<string mnemonic, string text, TypeConstraint type = Graph_Tensor>
    : Graph_Elementwise<mnemonic, [SameOperandsAndResultType]> {
  let summary = text;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Graph_NegOp : Graph_Unary<"neg", "-x">;
def Graph_AbsOp : Graph_Unary<"abs", "|x|">;
def Graph_SignOp : Graph_Unary<"sign", "-1, 0 or 1">;
def Graph_NotOp : Graph_Unary<"not", "bitwise complement; logical for i1", Graph_IntTensor>;
def Graph_ExpOp : Graph_Unary<"exp", "e^x", Graph_FloatTensor>;
def Graph_Expm1Op : Graph_Unary<"expm1", "e^x - 1", Graph_FloatTensor>;
def Graph_LogOp : Graph_Unary<"log", "natural logarithm", Graph_FloatTensor>;
def Graph_Log1pOp : Graph_Unary<"log1p", "log(1 + x)", Graph_FloatTensor>;
def Graph_SqrtOp : Graph_Unary<"sqrt", "square root", Graph_FloatTensor>;
def Graph_RsqrtOp : Graph_Unary<"rsqrt", "1 / square root", Graph_FloatTensor>;
def Graph_CbrtOp : Graph_Unary<"cbrt", "cube root", Graph_FloatTensor>;
def Graph_TanhOp : Graph_Unary<"tanh", "hyperbolic tangent", Graph_FloatTensor>;
def Graph_LogisticOp : Graph_Unary<"logistic", "1 / (1 + e^-x)", Graph_FloatTensor>;
def Graph_SinOp : Graph_Unary<"sin", "sine", Graph_FloatTensor>;
def Graph_CosOp : Graph_Unary<"cos", "cosine", Graph_FloatTensor>;
def Graph_ErfOp : Graph_Unary<"erf", "error function", Graph_FloatTensor>;
def Graph_ErfcOp : Graph_Unary<"erfc", "1 - erf(x)", Graph_FloatTensor>;
def Graph_FloorOp : Graph_Unary<"floor", "largest integer not above x", Graph_FloatTensor>;
def Graph_CeilOp : Graph_Unary<"ceil", "smallest integer not below x", Graph_FloatTensor>;
def Graph_RoundEvenOp : Graph_Unary<"round_even", "nearest integer, halves to even", Graph_FloatTensor>;

def Graph_IsFiniteOp : Graph_Elementwise<"is_finite", [SameOperandsAndResultShape]> {
  let summary = "neither infinite nor NaN";
  let arguments = (ins Graph_FloatTensor:$operand);
  let results = (outs Graph_BoolTensor:$result);
}
def Graph_ConvertOp : Graph_Elementwise<"convert", [SameOperandsAndResultShape]> {
  let summary = "conversion to the result's element type: floats round to nearest even, floats to integers truncate, i1 is 0 or 1; to i1: not zero";
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
}
def Graph_StopGradientOp : Graph_Unary<"stop_gradient", "x, with a gradient of zero">;

def Graph_AddOp : Graph_Binary<"add", "a + b">;
def Graph_SubOp : Graph_Binary<"sub", "a - b">;
def Graph_MulOp : Graph_Binary<"mul", "a * b">;
def Graph_DivOp : Graph_Binary<"div", "a / b; integers truncate">;
def Graph_MaxOp : Graph_Binary<"max", "the larger; NaN if either is; the gradient of equal elements is halved">;
def Graph_MinOp : Graph_Binary<"min", "the smaller; NaN if either is; the gradient of equal elements is halved">;
def Graph_PowOp : Graph_Binary<"pow", "a to the power b">;
def Graph_RemOp : Graph_Binary<"rem", "remainder with the sign of a">;
def Graph_AndOp : Graph_Binary<"and", "bitwise and", Graph_IntTensor>;
def Graph_OrOp : Graph_Binary<"or", "bitwise or", Graph_IntTensor>;
def Graph_XorOp : Graph_Binary<"xor", "bitwise exclusive or", Graph_IntTensor>;
def Graph_ShiftLeftOp : Graph_Binary<"shift_left", "a << b, 0 where b is not below the width", Graph_IntTensor>;
def Graph_ShiftRightOp : Graph_Binary<"shift_right", "logical a >> b, 0 where b is not below the width", Graph_IntTensor>;

def Graph_CompareOp : Graph_Elementwise<"compare", [SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "a comparison; unsigned for unsigned element types and i1";
  let arguments = (ins Graph_ComparePredicateAttr:$predicate, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}
def Graph_SelectOp : Graph_Elementwise<"select", [AllTypesMatch<["onTrue", "onFalse", "result"]>]> {
  let summary = "onTrue where the predicate holds, else onFalse; the predicate has the shape of the result";
  let arguments = (ins Graph_BoolTensor:$predicate, Graph_Tensor:$onTrue, Graph_Tensor:$onFalse);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Generic tensor operations
//===--------------------------------------------------------------------------------------------------------------===//

def Graph_ConstantOp : Graph_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a constant tensor";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}
def Graph_IotaOp : Graph_PureOp<"iota"> {
  let summary = "the index along dimension `dim`; with `dist.shard` that of the whole tensor";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Graph_BroadcastOp : Graph_PureOp<"broadcast"> {
  let summary = "operand dimension i becomes result dimension dims[i] (C1 strictly increasing); sizes are equal, or 1 in the operand (C2)";
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ReshapeOp : Graph_PureOp<"reshape"> {
  let summary = "the same elements in row-major order under another shape (C1: the same count)";
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let hasVerifier = 1;
}
def Graph_TransposeOp : Graph_PureOp<"transpose"> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_SliceOp : Graph_PureOp<"slice"> {
  let summary = "elements starts, starts + strides, ... below limits, in each dimension";
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand $starts `to` $limits `step` $strides attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_PadOp : Graph_PureOp<"pad"> {
  let summary = "`low` elements of `value` before, `high` after and `interior` between the elements of each dimension; low and high may be negative";
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $value `low` $low `high` $high `interior` $interior attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ConcatOp : Graph_PureOp<"concat"> {
  let summary = "operands one after the other along dimension `dim`";
  let arguments = (ins Variadic<Graph_Tensor>:$operands, I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ConstrainOp : Graph_PureOp<"constrain", [SameOperandsAndResultType]> {
  let summary = "x itself, which has to lie as the user wrote: `sharding` is an sdy.sharding over the axes of the user's mesh";
  let description = [{ Gone at the end of the level shard, which obeys it. Its gradient has to lie in the same way. }];
  let arguments = (ins Graph_Tensor:$operand, AnyAttr:$sharding);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `:` type($result) `as` $sharding attr-dict";
}
def Graph_ReverseOp : Graph_PureOp<"reverse"> {
  let summary = "elements in opposite order along each of `dims`";
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` functional-type(operands, results)";
}
def Graph_ReduceOp : Graph_PureOp<"reduce"> {
  let summary = "elements combined over `dims` (C1 strictly increasing), which the result lacks; and/or on i1";
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $operand `dims` $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_CumulativeOp : Graph_PureOp<"cumulative", [SameOperandsAndResultType]> {
  let summary = "element i combines elements 0..i along `dim`, with `reverse` elements i..n-1";
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_Tensor:$operand, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($result)";
}
def Graph_EinsumOp : Graph_PureOp<"einsum"> {
  let summary = "a product of two tensors summed over the letters that the result lacks";
  let description = [{
    `spec` is "bsd,df->bsf". C1: letters are distinct within one operand and within the result; C2: every letter of the result stands in an operand;
    C3: sizes of one letter agree. Products are summed in f32 (f64 for f64) and rounded once to the result's element type.
  }];
  let arguments = (ins StrAttr:$spec, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$spec $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_GatherOp : Graph_PureOp<"gather"> {
  let summary = "rows of x chosen by ids along `axis`";
  let description = [{
    The first `batch_dims` dimensions of x and ids are the same. result[batch, x dims before axis, ids dims after batch, x dims after axis] =
    x[batch, .., clamp(id), ..]. With `dist.shard` on a cut axis ids are clamped to the whole of it, and a row that another shard has gives 0.
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IntTensor:$ids, I64Attr:$axis, I64Attr:$batch_dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_ScatterAddOp : Graph_PureOp<"scatter_add"> {
  let summary = "a zero tensor to which updates are added at the rows that gather would read; the gradient of gather";
  let arguments = (ins Graph_Tensor:$updates, Graph_IntTensor:$ids, I64Attr:$axis, I64Attr:$batch_dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$updates `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_TopKOp : Graph_PureOp<"top_k"> {
  let summary = "the k largest along the last dimension, largest first, equal ones in the order of their index";
  let arguments = (ins Graph_Tensor:$operand, I64Attr:$k);
  let results = (outs Graph_Tensor:$values, Graph_IntTensor:$indices);
}
def Graph_SortOp : Graph_PureOp<"sort"> {
  let summary = "stable sort along the last dimension, and the permutation";
  let arguments = (ins Graph_Tensor:$operand, UnitAttr:$descending);
  let results = (outs Graph_Tensor:$values, Graph_IntTensor:$indices);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Named operations. Each is found in its decomposed form at import. Statistics have the shape of the rows.
//===--------------------------------------------------------------------------------------------------------------===//

def Graph_EmbeddingOp : Graph_PureOp<"embedding"> {
  let summary = "rows of a table [v, d] by ids in [-v, v); negative ids count from the end";
  let arguments = (ins Graph_FloatTensor:$table, Graph_IntTensor:$ids);
  let results = (outs Graph_FloatTensor:$result);
  let hasVerifier = 1;
}
def Graph_EmbeddingGradOp : Graph_PureOp<"embedding_grad"> {
  let summary = "the gradient of embedding's table";
  let arguments = (ins Graph_FloatTensor:$dResult, Graph_IntTensor:$ids);
  let results = (outs Graph_FloatTensor:$dTable);
}
def Graph_LayerNormOp : Graph_PureOp<"layer_norm"> {
  let summary = "(x - mean) * rstd * scale + bias over the last dimension; rstd = 1/sqrt(variance + epsilon)";
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd);
  let hasVerifier = 1;
}
def Graph_LayerNormGradOp : Graph_PureOp<"layer_norm_grad"> {
  let summary = "gradients of layer_norm";
  let arguments = (ins Graph_FloatTensor:$dResult, Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd);
  let results = (outs Graph_FloatTensor:$dOperand, Graph_FloatTensor:$dScale, Graph_FloatTensor:$dBias);
}
def Graph_RmsNormOp : Graph_PureOp<"rms_norm"> {
  let summary = "x * rstd * scale over the last dimension; rstd = 1/sqrt(mean(x^2) + epsilon)";
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$rstd);
  let hasVerifier = 1;
}
def Graph_RmsNormGradOp : Graph_PureOp<"rms_norm_grad"> {
  let summary = "gradients of rms_norm";
  let arguments = (ins Graph_FloatTensor:$dResult, Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$rstd);
  let results = (outs Graph_FloatTensor:$dOperand, Graph_FloatTensor:$dScale);
}
def Graph_SoftmaxOp : Graph_PureOp<"softmax", [SameOperandsAndResultType]> {
  let summary = "exp(x - max) / sum over the last dimension";
  let arguments = (ins Graph_FloatTensor:$operand);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
def Graph_SoftmaxGradOp : Graph_PureOp<"softmax_grad", [SameOperandsAndResultType]> {
  let summary = "y * (dy - sum(y * dy)) of (y, dy)";
  let arguments = (ins Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def Graph_SoftmaxCrossEntropyOp : Graph_PureOp<"softmax_cross_entropy"> {
  let summary = "loss = log(sum) + max - logits[target] over the last dimension, max the row's largest logit, sum that of exp(logits - max)";
  let description = [{ A target outside [0, v) selects no logit. The loss and the statistics are f32 (f64 for f64 logits). }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$targets);
  let results = (outs Graph_FloatTensor:$loss, Graph_FloatTensor:$max, Graph_FloatTensor:$sum);
  let hasVerifier = 1;
}
def Graph_SoftmaxCrossEntropyGradOp : Graph_PureOp<"softmax_cross_entropy_grad"> {
  let summary = "dloss * (exp(logits - max) / sum - onehot(target))";
  let arguments = (ins Graph_FloatTensor:$dLoss, Graph_FloatTensor:$logits, Graph_IntTensor:$targets, Graph_FloatTensor:$max, Graph_FloatTensor:$sum);
  let results = (outs Graph_FloatTensor:$dLogits);
}
// softmax_cross_entropy in pieces around its two reductions, so that the logits' dimension may be cut.
def Graph_CrossEntropyMaxOp : Graph_PureOp<"cross_entropy_max"> {
  let summary = "the largest logit of each row of this shard";
  let arguments = (ins Graph_FloatTensor:$logits);
  let results = (outs Graph_FloatTensor:$max);
}
def Graph_CrossEntropySumOp : Graph_PureOp<"cross_entropy_sum"> {
  let summary = "sum of exp(logits - max) of each row of this shard, and the target's logit, 0 where another shard has it";
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$targets, Graph_FloatTensor:$max);
  let results = (outs Graph_FloatTensor:$sum, Graph_FloatTensor:$target);
}
def Graph_GeluOp : Graph_Elementwise<"gelu", [SameOperandsAndResultType]> {
  let summary = "x * Phi(x), by tanh or by erf";
  let arguments = (ins Graph_GeluKindAttr:$kind, Graph_FloatTensor:$operand);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$kind $operand attr-dict `:` type($result)";
}
def Graph_GeluGradOp : Graph_Elementwise<"gelu_grad", [SameOperandsAndResultType]> {
  let summary = "dy times the derivative at x";
  let arguments = (ins Graph_GeluKindAttr:$kind, Graph_FloatTensor:$dResult, Graph_FloatTensor:$operand);
  let results = (outs Graph_FloatTensor:$dOperand);
  let assemblyFormat = "$kind $dResult `,` $operand attr-dict `:` type($dOperand)";
}
def Graph_SiluOp : Graph_Unary<"silu", "x * logistic(x)", Graph_FloatTensor>;
def Graph_SiluGradOp : Graph_Binary<"silu_grad", "dy times the derivative at x of (dy, x)", Graph_FloatTensor>;
def Graph_SwigluOp : Graph_Binary<"swiglu", "silu(gate) * up", Graph_FloatTensor>;
def Graph_SwigluGradOp : Graph_Elementwise<"swiglu_grad", [SameOperandsAndResultType]> {
  let summary = "gradients of swiglu";
  let arguments = (ins Graph_FloatTensor:$dResult, Graph_FloatTensor:$gate, Graph_FloatTensor:$up);
  let results = (outs Graph_FloatTensor:$dGate, Graph_FloatTensor:$dUp);
  let assemblyFormat = "$dResult `,` $gate `,` $up attr-dict `:` type($dGate)";
}
def Graph_RopeOp : Graph_PureOp<"rope"> {
  let summary = "x * cos + rotate_half(x) * sin; rotate_half(x) = concat(-x[d/2:], x[:d/2])";
  let description = [{ x [b, s, h, d]; cos and sin [s, d] or [b, s, d], the two halves of d alike. With `transposed` the gradient: dy * cos + rotate_half^T(dy * sin). }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$cos, Graph_FloatTensor:$sin, UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$result);
  let hasVerifier = 1;
}
def Graph_AttentionOp : Graph_PureOp<"attention"> {
  let summary = "softmax(scale * q k^T + mask) v";
  let description = [{
    q [b, s, h, d], k and v [b, t, hk, d], h a multiple of hk (C1): query head i reads key head i / (h / hk). `mask`, if given, is f32, added to the
    scaled scores, [b or 1, h or 1, s or 1, t]. With `causal` query i sees keys <= i + t - s; the scores of other keys are replaced by `masked_value` (-inf, or a large negative
    number). Result [b, s, h, d] and lse [b, h, s] (f32), the log of the sum of exponentials.
  }];
  let arguments = (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key, Graph_FloatTensor:$value, Optional<Graph_FloatTensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal, F64Attr:$masked_value);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$lse);
  let assemblyFormat = "$query `,` $key `,` $value (`mask` $mask^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
def Graph_AttentionGradOp : Graph_PureOp<"attention_grad"> {
  let summary = "gradients of attention with respect to q, k and v";
  let arguments = (ins Graph_FloatTensor:$dResult, Graph_FloatTensor:$query, Graph_FloatTensor:$key, Graph_FloatTensor:$value,
                       Graph_FloatTensor:$result, Graph_FloatTensor:$lse, Optional<Graph_FloatTensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal, F64Attr:$masked_value);
  let results = (outs Graph_FloatTensor:$dQuery, Graph_FloatTensor:$dKey, Graph_FloatTensor:$dValue);
  let assemblyFormat = [{ $dResult `,` $query `,` $key `,` $value `,` $result `,` $lse (`mask` $mask^)? attr-dict
                          `:` functional-type(operands, results) }];
}

//===--------------------------------------------------------------------------------------------------------------===//
// The optimizer
//===--------------------------------------------------------------------------------------------------------------===//

def Graph_UpdateOp : Graph_Op<"update"> {
  let summary = "the optimizer's step on one parameter; `decay` says whether weight decay applies";
  let arguments = (ins StrAttr:$optimizer, Graph_FloatTensor:$parameter, Graph_FloatTensor:$gradient, UnitAttr:$decay);
  let assemblyFormat = "$optimizer $parameter `,` $gradient attr-dict `:` type($parameter) `,` type($gradient)";
}

#endif
