// Sums that are wanted in f32 are not rounded on the way; see Passes.td.
#include "passes/Autodiff/Passes.h"

namespace p3d {
#define GEN_PASS_DEF_WIDENPRODUCTSPASS
#include "passes/Autodiff/Passes.h.inc"
} // namespace p3d

using namespace mlir;
using namespace p3d;
using namespace p3d::graph;

namespace {
/// The product or sum that `op` converts, if it may be widened.
Operation *productOf(ConvertOp op) {
  Operation *product = op.getOperand().getDefiningOp();
  auto reduce = dyn_cast_or_null<ReduceOp>(product);
  bool isSum = isa_and_nonnull<EinsumOp, EmbeddingGradOp>(product) || (reduce && reduce.getKind() == ReduceKind::Sum);
  bool isWidened = op.getType().getElementType().isF32() && tensorType(op.getOperand()).getElementTypeBitWidth() == 16;
  return isSum && isWidened && op.getOperand().hasOneUse() ? product : nullptr;
}

struct WidenProductsPass : p3d::impl::WidenProductsPassBase<WidenProductsPass> {
  void runOnOperation() override {
    SmallVector<ConvertOp> converts;
    getOperation().walk([&](ConvertOp op) { converts.push_back(op); });
    for (ConvertOp op : converts)
      if (Operation *product = productOf(op))
        widen(product, op);
  }

  static void widen(Operation *product, ConvertOp convert) {
    RankedTensorType type = convert.getType();
    product->getResult(0).setType(type);
    convert.replaceAllUsesWith(product->getResult(0));
    convert.erase();
    if (!isa<ReduceOp>(product))
      return;
    // A sum has the type of what it sums.
    OpBuilder builder(product);
    auto wide = tensorType(product->getOperand(0)).clone(type.getElementType());
    product->setOperand(0, builder.create<ConvertOp>(product->getLoc(), wide, product->getOperand(0)));
  }
};
} // namespace
