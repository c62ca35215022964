#include "passes/Lower/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"

namespace p3d::lower {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/Lower/Passes.h.inc"
} // namespace p3d::lower

using namespace mlir;
using namespace p3d;

namespace {
struct ExpandMath : lower::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (!kernel.isExternal() && failed(applyPatternsAndFoldGreedily(kernel, frozen)))
        return signalPassFailure();
  }
};
} // namespace
