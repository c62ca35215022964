// What the recognisers of named operations share: values seen through the operations that only spread them, means, products.
#pragma once

#include "passes/Import/GraphPatterns.h"

namespace p3d::import {

/// `value` as a tensor that is repeated along dimensions: `dims[i]` is the dimension of `value` that dimension i of `source` is, -1 where
/// the source has size 1.
struct Spread {
  mlir::Value source;
  llvm::SmallVector<int64_t> dims;
};
Spread spreadOf(mlir::Value value);

/// The operand of a chain of float conversions that lose nothing.
mlir::Value withoutWidening(mlir::Value value);
/// The operand of a chain of float conversions.
mlir::Value withoutConverts(mlir::Value value);

/// One number per row of `value`, all dimensions but the last, where it is constant along the last; null otherwise.
mlir::Value rowsOf(mlir::Value value);
/// One number per position in the last dimension, where `value` is constant along the others; null otherwise.
mlir::Value vectorOf(mlir::Value value);
/// `value` without the reshapes that only add or drop unit dimensions.
mlir::Value withoutUnitDims(mlir::Value value);

/// x, where `value` is the sum, or the largest element, of x over its last dimension, up to unit dimensions.
mlir::Value matchRowReduction(mlir::Value value, graph::ReduceKind kind);
/// x, where `value` is the mean of x over its last dimension, up to unit dimensions.
mlir::Value matchRowMean(mlir::Value value);

/// A product of values and numbers, seen through converts between its parts; values that are used elsewhere too are not taken apart. A factor that was
/// widened stands without that conversion.
struct Product {
  double number = 1;
  llvm::SmallVector<mlir::Value> factors, divisors;
};
Product productOf(mlir::Value root);

/// Whether `value` is about `expected`, to the precision of its own element type (constants come rounded).
bool isAbout(mlir::Value typed, double value, double expected);

/// The type of per-row statistics of `value`: f32, for f64 f64, without the last dimension.
mlir::RankedTensorType statisticsType(mlir::Value value);

/// Replaces operations of `program`, from users to what they use, by what `recognize` builds in place of their first result (null: nothing), and
/// erases what is left without use.
void replaceInReverse(graph::ProgramOp program, llvm::function_ref<mlir::Value(mlir::Operation *)> recognize);

} // namespace p3d::import
