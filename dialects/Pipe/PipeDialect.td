//===- PipeDialect.td - the pipe dialect --------------------------------------------------------------------------===//
#ifndef P3D_PIPE_DIALECT
#define P3D_PIPE_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def Pipe_Dialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::p3d::pipe";
  let useDefaultAttributePrinterParser = 1;
  let summary = "Stages of a pipeline: what each keeps, its tasks, its transfers, and the order of its tasks";
  let description = [{
    A `pipe.stage` declares buffers (what lives longer than one task) and holds tasks. Within a task values are SSA; between tasks they go through
    buffers, between stages through send and recv. Values are local tensors: one microbatch of one rank.
  }];
}

#endif
