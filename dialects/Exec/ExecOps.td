//===- ExecOps.td - programs, memory, commands --------------------------------------------------------------------===//
#ifndef P3D_EXEC_OPS
#define P3D_EXEC_OPS

include "dialects/Exec/ExecAttrs.td"
include "dialects/Exec/ExecInterfaces.td"
include "dialects/Dist/DistAttrs.td"
include "dialects/Pipe/PipeAttrs.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Exec_Memory : StaticShapeMemRefOf<[AnyFloat, AnyInteger]>;
class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

//===--------------------------------------------------------------------------------------------------------------===//
// Structure
//===--------------------------------------------------------------------------------------------------------------===//

def Exec_ProgramOp : Exec_Op<"program", [Symbol, SymbolTable, IsolatedFromAbove, NoRegionArguments, SingleBlock, NoTerminator]> {
  let summary = "what every rank of one stage runs";
  let description = [{
    What microbatch mb of a chunk sends lies in slot mb mod `slots` of the chunk. `order` lists actions as text, as in pipe.stage. After planning `arena_bytes` is the size of the arena, and
    `zero_offset`, `zero_bytes` the part of it that is set to zero when a step begins.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$index, DenseI64ArrayAttr:$slots, OptionalAttr<ArrayAttr>:$order,
                       OptionalAttr<I64Attr>:$arena_bytes, OptionalAttr<I64Attr>:$zero_offset, OptionalAttr<I64Attr>:$zero_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `index` $index `slots` $slots (`arena` $arena_bytes^ `zero` $zero_bytes `at` $zero_offset)? attr-dict-with-keyword $body }];
}

def Exec_BufferOp : Exec_Op<"buffer", [Symbol]> {
  let summary = "memory of the arena that outlives a task: at `offset`, for an activation at `offset` in its slab";
  let description = [{
    Carries the attributes of its pipe.buffer. `element` is the element type of its tensor, `global` that tensor's type before partition. The buffers of an optimizer's
    state carry `exec.state_of = @parameter` and `exec.state` ("m", "v", "master"); where a rank updates a share of a row of parameters, that is the first of these.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Pipe_BufferKindAttr:$kind, TypeAttrOf<Exec_Memory>:$type, TypeAttr:$element,
                       OptionalAttr<TypeAttr>:$global, OptionalAttr<FlatSymbolRefAttr>:$slab, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $kind $sym_name (`in` $slab^)? (`at` $offset^)? `:` $type `of` $element (`global` $global^)? attr-dict }];
  let extraClassDeclaration = [{
    ::mlir::MemRefType getMemory() { return ::mlir::cast<::mlir::MemRefType>(getType()); }
  }];
}

def Exec_SlabOp : Exec_Op<"slab", [Symbol]> {
  let summary = "activations that live equally long: those of microbatch mb lie at `places`[mb mod their number] in the arena";
  let description = [{
    What a task of chunk `sends` sends lies in a slab of its own, whose places are the chunk's slots. Of the others `copies` hold something when most memory does.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$bytes, DenseI64ArrayAttr:$places, I64Attr:$copies, OptionalAttr<I64Attr>:$sends);
  let assemblyFormat = "$sym_name (`sends` $sends^)? `bytes` $bytes `copies` $copies `at` $places attr-dict";
  let extraClassDeclaration = [{
    int64_t placeOf(int64_t microbatch) { return getPlaces()[microbatch % getPlaces().size()]; }
  }];
  let hasVerifier = 1;
}

def Exec_TaskOp : Exec_Op<"task", [NoRegionArguments, SingleBlock, NoTerminator]> {
  let summary = "the commands of one action; its temporaries lie in the arena at `scratch_offset` and take `scratch_bytes`";
  let arguments = (ins Pipe_TaskKindAttr:$kind, DefaultValuedAttr<I64Attr, "0">:$chunk, OptionalAttr<I64Attr>:$scratch_offset,
                       OptionalAttr<I64Attr>:$scratch_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind (`chunk` $chunk^)? (`scratch` $scratch_bytes^ `at` $scratch_offset)? attr-dict-with-keyword $body";
}

def Exec_FunctionOp : Exec_Op<"function", [FunctionOpInterface, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "a block of the graph; the last `outs` arguments are its results, no two arguments overlap where one is a result";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, I64Attr:$outs, OptionalAttr<I64Attr>:$scratch_bytes,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

//===--------------------------------------------------------------------------------------------------------------===//
// Memory
//===--------------------------------------------------------------------------------------------------------------===//

def Exec_AddressOp : Exec_Op<"address"> {
  let summary = "a buffer (of the microbatch's slot)";
  let arguments = (ins FlatSymbolRefAttr:$buffer);
  let results = (outs Exec_Memory:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($result)";
}
def Exec_ConstantOp : Exec_Op<"constant"> {
  let summary = "read-only memory outside the arena";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Exec_Memory:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}
def Exec_TemporaryOp : Exec_Op<"temporary"> {
  let summary = "memory of this task or function, at `offset` of its scratch; alive from the first command that touches it to the last";
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Exec_Memory:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
}
def Exec_StartOp : Exec_Op<"start", [Pure]> {
  let summary = "the first row of this rank's shard, or of this microbatch: its index over `axes`, major first, times `chunk`";
  let arguments = (ins ArrayAttr:$axes, I64Attr:$chunk);
  let results = (outs I64:$result);
  let assemblyFormat = "$axes `chunk` $chunk attr-dict";
}
def Exec_ViewOp : Exec_Op<"view"> {
  let summary = "part of a memory, or another shape of it: from element `start` * `scale` on";
  let arguments = (ins Exec_Memory:$source, Optional<I64>:$start, DefaultValuedAttr<I64Attr, "1">:$scale);
  let results = (outs Exec_Memory:$result);
  let assemblyFormat = "$source (`from` $start^ `times` $scale)? attr-dict `:` type($source) `to` type($result)";
}

//===--------------------------------------------------------------------------------------------------------------===//
// Commands
//===--------------------------------------------------------------------------------------------------------------===//

class Exec_CommandOp<string mnemonic, list<Trait> traits = [], list<string> overridden = []>
    : Exec_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<Exec_Command, overridden>], traits)>;

def Exec_LaunchOp : Exec_CommandOp<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a generated kernel: a func.func whose parameters are flat memories `ins`, numbers `starts`, flat memories `outs`; `adds` where it adds to outs";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Memory>:$ins, Variadic<I64>:$starts, Variadic<Exec_Memory>:$outs, UnitAttr:$adds);
  let assemblyFormat = [{ $kernel `(` $ins `)` (`starts` $starts^)? `->` `(` $outs `)` (`adds` $adds^)? attr-dict `:` functional-type($ins, $outs) }];
}
def Exec_InvokeOp : Exec_CommandOp<"invoke", [AttrSizedOperandSegments]> {
  let summary = "a kernel of the library by its C name: parameters are `head`, ins, outs, `tail`; a unit in tail stands for the next of `starts`";
  let description = [{ A constant array in tail is passed by address, a unit in `head` is a null pointer among the ins at that place (attention without mask). }];
  let arguments = (ins StrAttr:$callee, ArrayAttr:$head, Variadic<Exec_Memory>:$ins, Variadic<I64>:$starts, Variadic<Exec_Memory>:$outs,
                       ArrayAttr:$tail, OptionalAttr<DenseI64ArrayAttr>:$mask_strides);
  let assemblyFormat = [{
    $callee $head `(` $ins `)` (`starts` $starts^)? `->` `(` $outs `)` $tail attr-dict `:` functional-type($ins, $outs) }];
}
def Exec_EinsumOp : Exec_CommandOp<"einsum", [AttrSizedOperandSegments]> {
  let summary = "a product of two tensors (graph.einsum) into the out, or added to it, perhaps with an epilogue";
  let description = [{
    An epilogue has more ins after the two operands, and more outs after the product (target cuda). Vectors lie along the last dimensions of the product, and everything has
    the product's element type:
    - `bias` (in: vector): the product plus the vector;
    - `bias_gelu` (in: vector; perhaps an out like the product, which keeps the sum): gelu of that, by tanh;
    - `gelu_grad` (in: x, like the product; perhaps an out: vector): the product times the derivative of gelu at x, and the sums of that over all but the vector;
    - `sum_lhs`, `sum_rhs` (out: vector): the product, and the sums of an operand over what it shares with the other alone; the vector is its last dimensions.

    Vectors among the outs are written, or added to with `adds_sums`.
  }];
  let arguments = (ins StrAttr:$spec, Variadic<Exec_Memory>:$ins, Variadic<Exec_Memory>:$outs, UnitAttr:$adds, OptionalAttr<Exec_EpilogueAttr>:$epilogue,
                       UnitAttr:$adds_sums);
  let assemblyFormat = [{ $spec `(` $ins `)` `->` `(` $outs `)` (`adds` $adds^)? (`then` $epilogue^)? (`adds_sums` $adds_sums^)? attr-dict `:`
                          functional-type($ins, $outs) }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$spec, "::mlir::ValueRange":$ins, "::mlir::ValueRange":$outs, "bool":$adds), [{
    build($_builder, $_state, spec, ins, outs, adds, EpilogueAttr(), false);
  }]>];
  let extraClassDeclaration = "::llvm::LogicalResult verifyEpilogue();";
  let hasVerifier = 1;
}
def Exec_CallOp : Exec_CommandOp<"call", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a function, its temporaries at `scratch` of the caller's";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Exec_Memory>:$ins, Variadic<Exec_Memory>:$outs, OptionalAttr<I64Attr>:$layer,
                       OptionalAttr<I64Attr>:$scratch);
  let assemblyFormat = [{ $callee `(` $ins `)` `->` `(` $outs `)` (`scratch` $scratch^)? attr-dict `:` functional-type($ins, $outs) }];
}

// Communication. `dtype` is the element type of the tensor, which the memory's may hide (unsigned, i1).
def Exec_AllReduceOp : Exec_CommandOp<"all_reduce", [], ["getReads"]> {
  let summary = "reduces each of outs over a group, in place; `number` is that of a tied group";
  let arguments = (ins Dist_ReduceKindAttr:$kind, Variadic<Exec_Memory>:$outs, Exec_GroupAttr:$group, I64Attr:$number, TypeAttr:$dtype, StrAttr:$reason);
  let assemblyFormat = "$kind $outs `over` $group $number `of` $dtype `why` $reason attr-dict `:` type($outs)";
}
def Exec_ReduceSharesOp : Exec_CommandOp<"reduce_shares", [], ["getReads"]> {
  let summary = "pipe.reduce_shares: outs stand in a row in the arena, and rank i of the group gets elements [i * chunk, (i + 1) * chunk) of it";
  let arguments = (ins Variadic<Exec_Memory>:$outs, I64Attr:$chunk, Exec_GroupAttr:$group, TypeAttr:$dtype, StrAttr:$reason);
  let assemblyFormat = "$outs `chunk` $chunk `over` $group `of` $dtype `why` $reason attr-dict `:` type($outs)";
}
def Exec_GatherSharesOp : Exec_CommandOp<"gather_shares", [], ["getReads"]> {
  let summary = "pipe.gather_shares: outs stand in a row in the arena, of which rank i of the group supplies elements [i * chunk, (i + 1) * chunk)";
  let arguments = (ins Variadic<Exec_Memory>:$outs, I64Attr:$chunk, Exec_GroupAttr:$group, TypeAttr:$dtype, StrAttr:$reason);
  let assemblyFormat = "$outs `chunk` $chunk `over` $group `of` $dtype `why` $reason attr-dict `:` type($outs)";
}
def Exec_AllGatherOp : Exec_CommandOp<"all_gather", [AttrSizedOperandSegments]> {
  let summary = "dist.all_gather";
  let arguments = (ins Variadic<Exec_Memory>:$ins, Variadic<Exec_Memory>:$outs, I64Attr:$dim, Exec_GroupAttr:$group, TypeAttr:$dtype, StrAttr:$reason);
  let assemblyFormat = "`(` $ins `)` `->` `(` $outs `)` `dim` $dim `over` $group `of` $dtype `why` $reason attr-dict `:` functional-type($ins, $outs)";
}
def Exec_ReduceScatterOp : Exec_CommandOp<"reduce_scatter", [AttrSizedOperandSegments]> {
  let summary = "dist.reduce_scatter";
  let arguments = (ins Dist_ReduceKindAttr:$kind, Variadic<Exec_Memory>:$ins, Variadic<Exec_Memory>:$outs, I64Attr:$dim, Exec_GroupAttr:$group, TypeAttr:$dtype,
                       StrAttr:$reason);
  let assemblyFormat = "$kind `(` $ins `)` `->` `(` $outs `)` `dim` $dim `over` $group `of` $dtype `why` $reason attr-dict `:` functional-type($ins, $outs)";
}
def Exec_AllToAllOp : Exec_CommandOp<"all_to_all", [AttrSizedOperandSegments]> {
  let summary = "dist.all_to_all; `shape` is that of the whole tensor";
  let arguments = (ins Variadic<Exec_Memory>:$ins, Variadic<Exec_Memory>:$outs, DenseI64ArrayAttr:$shape, I64Attr:$gather_dim, I64Attr:$split_dim,
                       Exec_GroupAttr:$group, TypeAttr:$dtype, StrAttr:$reason);
  let assemblyFormat = [{ `(` $ins `)` `->` `(` $outs `)` `shape` $shape `gather` $gather_dim `split` $split_dim `over` $group `of` $dtype `why` $reason
                          attr-dict `:` functional-type($ins, $outs) }];
}
def Exec_SendOp : Exec_CommandOp<"send", [], ["getWrites"]> {
  let summary = "pipe.send; what it reads stays as it is until the task's slot is used again";
  let arguments = (ins Variadic<Exec_Memory>:$ins, I64Attr:$stage, I64Attr:$channel, StrAttr:$reason);
  let assemblyFormat = "$ins `to` $stage `channel` $channel `why` $reason attr-dict `:` type($ins)";
}
def Exec_RecvOp : Exec_CommandOp<"recv", [], ["getReads"]> {
  let summary = "pipe.recv";
  let arguments = (ins Variadic<Exec_Memory>:$outs, I64Attr:$stage, I64Attr:$channel, StrAttr:$reason);
  let assemblyFormat = "$outs `from` $stage `channel` $channel `why` $reason attr-dict `:` type($outs)";
}
def Exec_UpdateOp : Exec_Op<"update"> {
  let summary = "the optimizer's step on a parameter, which the runtime does after the last task";
  let arguments = (ins StrAttr:$optimizer, FlatSymbolRefAttr:$parameter, FlatSymbolRefAttr:$gradient, UnitAttr:$decay);
  let assemblyFormat = "$optimizer $parameter `by` $gradient attr-dict";
}

//===--------------------------------------------------------------------------------------------------------------===//
// Order between streams, where commands are only enqueued (target cuda)
//===--------------------------------------------------------------------------------------------------------------===//

def Exec_RecordOp : Exec_Op<"record"> {
  let summary = "an event that happens when what was enqueued on a stream before is done";
  let arguments = (ins I64Attr:$event, Exec_StreamAttr:$stream);
  let assemblyFormat = "$event `on` $stream attr-dict";
}
def Exec_WaitOp : Exec_Op<"wait"> {
  let summary = "what is enqueued on a stream from here on begins after an event";
  let arguments = (ins I64Attr:$event, Exec_StreamAttr:$stream);
  let assemblyFormat = "$event `on` $stream attr-dict";
}

#endif
