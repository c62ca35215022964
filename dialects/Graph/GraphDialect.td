//===- GraphDialect.td - the graph dialect -----------------------------------------------------------------------===//
#ifndef P3D_GRAPH_DIALECT
#define P3D_GRAPH_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::p3d::graph";
  let useDefaultAttributePrinterParser = 1;
  let summary = "What a transformer's loss function computes: tensors, named operations, blocks of repeated layers";
  let description = [{
    A module holds one `graph.program` and the `graph.block`s that it calls. Values are ranked tensors of static shape. Every op is
    pure. The interpreter (Interpreter.h) is the meaning of each op; FactorRules.h says how each may be cut over a mesh axis.
  }];
}

#endif
