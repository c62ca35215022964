// Gradients in 16 bits: half the memory and half the bytes between replicas, at the cost of a rounding for each microbatch and each rank.
#include "passes/Replicate/Buckets.h"
#include "passes/Replicate/Passes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace p3d::pipe;

namespace p3d {
#define GEN_PASS_DEF_NARROWGRADIENTSPASS
#include "passes/Replicate/Passes.h.inc"

namespace {
struct NarrowGradientsPass : impl::NarrowGradientsPassBase<NarrowGradientsPass> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (StageOp stage : getOperation().getOps<StageOp>())
      for (BufferOp gradient : gradientsOf(stage))
        if (gradient.getTensorType().getElementType().isF32())
          gradient.setType(gradient.getTensorType().clone(builder.getBF16Type()));
  }
};
} // namespace
} // namespace p3d
