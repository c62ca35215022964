// One reshard as collectives.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "mlir/IR/Builders.h"

namespace p3d::partition {

/// Moves `value`, a local tensor of the whole shape `global` lying as `reshard` says, to its new sharding. Emits collectives over tp, then over dp, then
/// takes the microbatch. Fails, with an error, on a move that no collective makes (a gather of the batch).
mlir::FailureOr<mlir::Value> expandReshard(mlir::OpBuilder &builder, dist::ReshardOp reshard, mlir::Value value,
                                           llvm::ArrayRef<int64_t> global, dist::MeshAttr mesh);

} // namespace p3d::partition
