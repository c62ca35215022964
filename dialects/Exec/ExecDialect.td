//===- ExecDialect.td - the exec dialect --------------------------------------------------------------------------===//
#ifndef P3D_EXEC_DIALECT
#define P3D_EXEC_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::p3d::exec";
  let dependentDialects = ["::p3d::dist::DistDialect", "::p3d::pipe::PipeDialect"];
  let summary = "The program of a rank: commands on memory at fixed places";
  let description = [{
    An `exec.program` is one stage: buffers in an arena and tasks, which are lists of commands. An `exec.function` is a block of the graph,
    shared by all programs: it takes its arguments, its results and its temporaries by address. Memory is a memref of static shape, dense and row-major; i1 is stored as
    i8 (0 or 1), unsigned integers as signless ones. Kernels are `func.func`s over flat memrefs. Commands run in the order in which they stand.
  }];
}

#endif
