// Facts about graph values that the import passes look for: uniform constants, positions, unit dimensions.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include <optional>

namespace p3d::import {

/// The number that every element of `value` is, looked up through broadcasts, reshapes, transposes and converts.
std::optional<double> uniformValue(mlir::Value value);

inline bool isUniform(mlir::Value value, double number) { return uniformValue(value) == number; }

/// The dimension along which every element of `value` is its own index (iota, seen through broadcasts, unit dimensions, + 0, * 1 and the
/// repair of negative indices).
std::optional<int64_t> iotaDim(mlir::Value value);

/// For a reshape that only adds or drops dimensions of size 1: the result dimension of each operand dimension, -1 for a dropped one.
std::optional<llvm::SmallVector<int64_t>> unitReshapeDims(mlir::RankedTensorType from, mlir::RankedTensorType to);

} // namespace p3d::import
