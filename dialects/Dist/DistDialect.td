//===- DistDialect.td - the dist dialect --------------------------------------------------------------------------===//
#ifndef P3D_DIST_DIALECT
#define P3D_DIST_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::p3d::dist";
  let summary = "Where values live on the mesh: shardings, changes of sharding, collectives";
  let description = [{
    The axes are `tp`, `dp` (space) and `mb` (time: the microbatches of a step). A value is cut, replicated or unreduced (a pending sum) over each.
    `dist.mesh` on the module gives the axes' sizes. Before partitioning, types are global and shardings stand beside the values; after it, types are
    local and only collectives are left.
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif
