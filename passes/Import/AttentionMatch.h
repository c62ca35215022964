// Attention in its decomposed form: softmax(mask(scale * q k^T)) v, in whatever order the dimensions lie.
#pragma once

#include "passes/Import/RecognitionMatchers.h"
#include <limits>

namespace p3d::import {

/// Scores between the product of q and k and the softmax.
struct Scores {
  graph::EinsumOp product;
  double scale = 1;
  bool causal = false;
  double maskedValue = -std::numeric_limits<double>::infinity();
  mlir::Value mask; ///< added to the scaled scores, in their shape; null when there is none
};

/// What stands between `softmaxOperand` and the product of q and k; nullopt when something else than scaling and masking does.
std::optional<Scores> matchScores(mlir::Value softmaxOperand, mlir::OpBuilder &builder);

/// The letters of a product of attention by their part in it; '\0' where there is none.
struct AttentionLetters {
  char batch = 0, head = 0, group = 0, query = 0, key = 0, width = 0;
};

} // namespace p3d::import
