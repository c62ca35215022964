// Parameters that a program holds in pieces: layers of a stack, q|k|v.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

namespace p3d {

/// For each dimension of the user's tensor the one of shape `held` that holds it, or -1: unit dimensions of a piece may be dropped. `piece` is graph.piece_shape,
/// null where the tensor is whole.
llvm::SmallVector<int64_t> matchPieceDims(llvm::ArrayRef<int64_t> held, mlir::DenseI64ArrayAttr piece);

} // namespace p3d
