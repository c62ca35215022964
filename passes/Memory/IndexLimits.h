// Which values the integer inputs of a stage may have.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace p3d::memory {

/// Sets `graph.index_limit` on the input buffers whose values reach an embedding unchanged: the least number of rows of such a table.
void markIndexLimits(mlir::ModuleOp module);

/// Rows of the whole table that `op`, an embedding or its gradient, sees a shard of.
int64_t tableRows(mlir::Operation *op, mlir::RankedTensorType table);

} // namespace p3d::memory
