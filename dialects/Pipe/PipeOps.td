//===- PipeOps.td - stages, buffers, tasks, transfers -------------------------------------------------------------===//
#ifndef P3D_PIPE_OPS
#define P3D_PIPE_OPS

include "dialects/Pipe/PipeAttrs.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def Pipe_Tensor : StaticShapeTensorOf<[AnyFloat, AnyInteger]>;
class Pipe_Op<string mnemonic, list<Trait> traits = []> : Op<Pipe_Dialect, mnemonic, traits>;

def Pipe_StageOp : Pipe_Op<"stage", [Symbol, SymbolTable, IsolatedFromAbove, NoRegionArguments, SingleBlock, NoTerminator]> {
  let summary = "the program of every rank of one stage";
  let description = [{
    `layers = [first, last, ...]` are the layers of each chunk that it holds (first > last: none). `slots` is for each chunk the number of microbatches whose activations are
    alive at once. `order` (after schedule) is the stage's actions in order, as text: "P", "F0", "B0", "W0", on another chunk than the first "F0.1", "S" (synchronize), "U" (update).
    C1: it holds buffers and tasks, at most one task of a kind and chunk. C2: an op of a task names a buffer of the stage. C3: a value read or written has the buffer's
    type; an accumulated one its shape. C4: only complete and activation buffers are written, only gradient and result buffers accumulated and synchronized. C5: a
    gradient buffer names its parameter (`pipe.of`), of the same shape unless one of them holds only a rank's share. C6: buffers whose shares move together have the same
    `pipe.share` but for `start`, and stand in its order.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$index, DenseI64ArrayAttr:$layers, OptionalAttr<DenseI64ArrayAttr>:$slots, OptionalAttr<ArrayAttr>:$order);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `index` $index `layers` $layers attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "int64_t":$index, "::llvm::ArrayRef<int64_t>":$layers)>];
  let skipDefaultBuilders = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getNumChunks() { return getLayers().size() / 2; }
    /// First and last layer of a chunk.
    std::pair<int64_t, int64_t> getLayersOf(int64_t chunk) { return {getLayers()[2 * chunk], getLayers()[2 * chunk + 1]}; }
    /// The task of `kind` of a chunk, or null.
    TaskOp getTask(TaskKind kind, int64_t chunk = 0);
    /// The buffer of this name, or null.
    BufferOp getBuffer(::llvm::StringRef name);
  }];
}

def Pipe_BufferOp : Pipe_Op<"buffer", [Symbol]> {
  let summary = "a tensor that outlives a task";
  let description = [{
    Parameter and input buffers carry the attributes of their program argument (`graph.name`, `graph.role`, `graph.global_shape`, `graph.piece_offset`,
    `graph.piece_shape`, `dist.sharding`), gradient buffers `pipe.of = @parameter`, result buffers `graph.name`. `global_type` is the type before partition where it differs.
    An activation of another chunk than the first has `pipe.chunk`. With `pipe.share` each rank of dp updates only a share of the flat tensor (dimensions joined), and with `pipe.holds_share` the buffer is no more than that share.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Pipe_BufferKindAttr:$kind, TypeAttr:$type, OptionalAttr<TypeAttr>:$global_type);
  let assemblyFormat = "$kind $sym_name `:` $type (`of` $global_type^)? attr-dict";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::mlir::cast<::mlir::RankedTensorType>(getType()); }
  }];
}

def Pipe_TaskOp : Pipe_Op<"task", [IsolatedFromAbove, NoRegionArguments, SingleBlock, NoTerminator]> {
  let summary = "what one action of the schedule does";
  let arguments = (ins Pipe_TaskKindAttr:$kind, DefaultValuedAttr<I64Attr, "0">:$chunk);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind (`chunk` $chunk^)? attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "TaskKind":$kind, CArg<"int64_t", "0">:$chunk)>];
  let skipDefaultBuilders = 1;
}

def Pipe_ReadOp : Pipe_Op<"read"> {
  let summary = "the value of a buffer (of the task's slot, for an activation)";
  let arguments = (ins FlatSymbolRefAttr:$buffer);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($result)";
}
def Pipe_WriteOp : Pipe_Op<"write"> {
  let summary = "sets a buffer";
  let arguments = (ins Pipe_Tensor:$value, FlatSymbolRefAttr:$buffer);
  let assemblyFormat = "$value `to` $buffer attr-dict `:` type($value)";
}
def Pipe_AccumulateOp : Pipe_Op<"accumulate"> {
  let summary = "adds to a gradient or result buffer";
  let arguments = (ins Pipe_Tensor:$value, FlatSymbolRefAttr:$buffer);
  let assemblyFormat = "$value `into` $buffer attr-dict `:` type($value)";
}
def Pipe_SendOp : Pipe_Op<"send"> {
  let summary = "hands a value to the rank of stage `stage` with the same tp and dp coordinates; `channel` names the transfer on both sides";
  let arguments = (ins Pipe_Tensor:$value, I64Attr:$stage, I64Attr:$channel);
  let assemblyFormat = "$value `to` $stage `channel` $channel attr-dict `:` type($value)";
}
def Pipe_RecvOp : Pipe_Op<"recv"> {
  let summary = "the value that stage `stage` sends on `channel` for this microbatch";
  let arguments = (ins I64Attr:$stage, I64Attr:$channel);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = "`from` $stage `channel` $channel attr-dict `:` type($result)";
}
def Pipe_ReduceTiedOp : Pipe_Op<"reduce_tied"> {
  let summary = "sums a gradient buffer with those of the other stages that hold a copy of its parameter; `stages` are all of them, `group` numbers the set";
  let arguments = (ins FlatSymbolRefAttr:$buffer, DenseI64ArrayAttr:$stages, I64Attr:$group);
  let assemblyFormat = "$buffer `stages` $stages `group` $group attr-dict";
}
def Pipe_SynchronizeOp : Pipe_Op<"synchronize"> {
  let summary = "sums gradient or result buffers over an axis, in one message; in place";
  let arguments = (ins ArrayAttr:$buffers, StrAttr:$axis, StrAttr:$reason);
  let assemblyFormat = "$buffers `over` $axis `why` $reason attr-dict";
}
def Pipe_ReduceSharesOp : Pipe_Op<"reduce_shares"> {
  let summary = "sums gradient buffers over an axis, in one message and in place: then each rank has its share of the sum (`pipe.share`), and something in the rest";
  let arguments = (ins ArrayAttr:$buffers, StrAttr:$axis, StrAttr:$reason);
  let assemblyFormat = "$buffers `over` $axis `why` $reason attr-dict";
}
def Pipe_GatherSharesOp : Pipe_Op<"gather_shares"> {
  let summary = "puts the shares of parameter buffers that the ranks of an axis have updated together, in one message and in place";
  let arguments = (ins ArrayAttr:$buffers, StrAttr:$axis, StrAttr:$reason);
  let assemblyFormat = "$buffers `over` $axis `why` $reason attr-dict";
}
def Pipe_UpdateOp : Pipe_Op<"update"> {
  let summary = "the optimizer's step on a parameter buffer by its gradient buffer";
  let arguments = (ins StrAttr:$optimizer, FlatSymbolRefAttr:$parameter, FlatSymbolRefAttr:$gradient, UnitAttr:$decay);
  let assemblyFormat = "$optimizer $parameter `by` $gradient attr-dict";
}

#endif
