// Runs the simplifications to a fixed point, then computes equal operations once.
#include "passes/Import/Passes.h"
#include "passes/Import/Simplifications.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

namespace p3d {
#define GEN_PASS_DEF_SIMPLIFYGRAPH
#include "passes/Import/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;

namespace {

struct SimplifyGraphPass : p3d::impl::SimplifyGraphBase<SimplifyGraphPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    import::addMovementSimplifications(set);
    import::addArithmeticSimplifications(set);
    import::addEinsumSimplifications(set);
    import::addReshapeSimplifications(set);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.useTopDownTraversal = true;
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
    // Every pattern removes an operation or brings it nearer to a form of its own, so there is a fixed point.
    if (failed(applyPatternsAndFoldGreedily(getOperation(), patterns, config)))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
