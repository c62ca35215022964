// Rotary positions: their frequencies as a config.json scales them, their tables, and the rotation.
#pragma once

#include "frontend/model/ConfigFields.h"
#include "frontend/model/TensorBuilder.h"

namespace p3d::model {

/// The frequencies of heads of width `width`, one for each pair of elements: `rope_theta`, and `rope_parameters` or, in
/// older files, `rope_scaling`.
std::vector<float> readRopeFrequencies(ConfigFields &fields, llvm::StringRef modelType, int64_t width,
                                       double defaultTheta);

/// Cosines and sines [s, d] of the angles of positions 0 to s - 1; the two halves of the last dimension are alike.
std::vector<mlir::Value> ropeTables(TensorBuilder &b, llvm::ArrayRef<float> frequencies, int64_t sequence);

/// x [b, s, h, d] with its halves rotated by the tables.
mlir::Value rotate(TensorBuilder &b, mlir::Value x, llvm::ArrayRef<mlir::Value> tables);

} // namespace p3d::model
