// How many bytes tensors take, in memory and in messages.
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace p3d::graph {

/// Of one element; a truth value takes a whole byte.
inline int64_t elementBytes(mlir::ShapedType type) { return llvm::divideCeil(type.getElementTypeBitWidth(), 8); }

inline int64_t bytesOf(mlir::ShapedType type) { return type.getNumElements() * elementBytes(type); }

} // namespace p3d::graph
