//===- PipeAttrs.td - kinds of buffers and tasks ------------------------------------------------------------------===//
#ifndef P3D_PIPE_ATTRS
#define P3D_PIPE_ATTRS

include "dialects/Pipe/PipeDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Pipe_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::p3d::pipe";
  let genSpecializedAttr = 0;
}

def Pipe_BufferKind : Pipe_Enum<"BufferKind", "what a buffer holds, and so how long it lives", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,   // a parameter (or frozen weight, constant buffer): kept between steps
  I32EnumAttrCase<"Input", 1, "input">,           // an input: the rows of this replica, all microbatches; filled before a step
  I32EnumAttrCase<"Complete", 2, "complete">,     // written by the prologue once a step, read by all tasks
  I32EnumAttrCase<"Activation", 3, "activation">, // one slot per live microbatch: written by its forward, read by its backward
  I32EnumAttrCase<"Gradient", 4, "gradient">,     // an f32 accumulator over microbatches, zero when a step begins
  I32EnumAttrCase<"Result", 5, "result">,         // accumulator of the loss or a metric, zero when a step begins; read after the last task
  I32EnumAttrCase<"Receive", 6, "receive">]>;     // what a task receives, from before the task until its last use there; one for all microbatches
def Pipe_BufferKindAttr : EnumAttr<Pipe_Dialect, Pipe_BufferKind, "buffer_kind">;

def Pipe_TaskKind : Pipe_Enum<"TaskKind", "a step of the schedule", [
  I32EnumAttrCase<"Prologue", 0, "prologue">, I32EnumAttrCase<"Forward", 1, "forward">, I32EnumAttrCase<"Backward", 2, "backward">,
  I32EnumAttrCase<"WeightGradient", 3, "weight_gradient">, I32EnumAttrCase<"Synchronize", 4, "synchronize">, I32EnumAttrCase<"Update", 5, "update">]>;
def Pipe_TaskKindAttr : EnumAttr<Pipe_Dialect, Pipe_TaskKind, "task_kind">;

def Pipe_ShareAttr : AttrDef<Pipe_Dialect, "Share"> {
  let mnemonic = "share";
  let summary = "what each rank of dp keeps of tensors that stand in a row: rank i the elements [i * chunk, (i + 1) * chunk) of the row";
  let description = [{ The elements of the buffer begin at `start` of the row, which is named after its first buffer. }];
  let parameters = (ins "int64_t":$chunk, "::mlir::FlatSymbolRefAttr":$row, "int64_t":$start);
  let assemblyFormat = "`<` $chunk `of` $row `from` $start `>`";
}

#endif
