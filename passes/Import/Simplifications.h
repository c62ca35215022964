// The rewrites of p3d-simplify-graph, by subject.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace p3d::import {

/// Broadcasts, reshapes, transposes, slices, concatenations and converts.
void addMovementSimplifications(mlir::RewritePatternSet &patterns);
/// Neutral elements and uniform constants.
void addArithmeticSimplifications(mlir::RewritePatternSet &patterns);
/// Transposes become letters.
void addEinsumSimplifications(mlir::RewritePatternSet &patterns);

/// Merging reshapes move towards the results.
void addReshapeSimplifications(mlir::RewritePatternSet &patterns);

/// A pattern from a function.
template <typename OpTy> struct Rewrite : mlir::OpRewritePattern<OpTy> {
  using Function = mlir::LogicalResult (*)(OpTy, mlir::PatternRewriter &);
  Rewrite(mlir::MLIRContext *context, Function function) : mlir::OpRewritePattern<OpTy>(context), function(function) {}
  mlir::LogicalResult matchAndRewrite(OpTy op, mlir::PatternRewriter &rewriter) const override { return function(op, rewriter); }
  Function function;
};
template <typename OpTy> void addRewrite(mlir::RewritePatternSet &patterns, typename Rewrite<OpTy>::Function function) {
  patterns.add(std::make_unique<Rewrite<OpTy>>(patterns.getContext(), function));
}

} // namespace p3d::import
