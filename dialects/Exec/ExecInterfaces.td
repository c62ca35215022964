//===- ExecInterfaces.td - what a command reads and writes --------------------------------------------------------===//
#ifndef P3D_EXEC_INTERFACES
#define P3D_EXEC_INTERFACES

include "mlir/IR/OpBase.td"

def Exec_Command : OpInterface<"Command"> {
  let cppNamespace = "::p3d::exec";
  let description = [{ Does something with memory; everything it touches is among its operands. A write sets or adds to what it names. }];
  let methods = [
    InterfaceMethod<"memory that it reads", "::mlir::ValueRange", "getReads", (ins), [{}], [{ return $_op.getIns(); }]>,
    InterfaceMethod<"memory that it writes", "::mlir::ValueRange", "getWrites", (ins), [{}], [{ return $_op.getOuts(); }]>
  ];
}

#endif
