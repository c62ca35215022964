// Kernels of linalg as loops, the parts of one of which can be done by several threads; see Passes.td.
#include "passes/Lower/KernelSplit.h"
#include "passes/Lower/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace p3d::lower {
#define GEN_PASS_DEF_SPLITKERNELS
#include "passes/Lower/Passes.h.inc"
} // namespace p3d::lower

using namespace mlir;
using namespace p3d;
using namespace p3d::lower;

namespace {
/// Elements that make a part worth a thread, and neighbours that stay together.
constexpr int64_t kLeastWork = 16384, kNeighbours = 16;
/// Enough parts for the threads of a machine.
constexpr int64_t kManyParts = 32;

/// Which loop of each operation of a kernel is cut; empty if none is.
struct Cut {
  SmallVector<std::pair<linalg::LinalgOp, unsigned>> loops;
  int64_t extent = 1, grain = 1;
};

/// The outermost parallel loop with many parts, else the one with the most.
std::optional<unsigned> loopToCut(linalg::GenericOp generic) {
  std::optional<unsigned> best;
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  for (auto [loop, kind] : llvm::enumerate(generic.getIteratorTypesArray())) {
    if (kind != utils::IteratorType::parallel)
      continue;
    if (!best || sizes[loop] > sizes[*best])
      best = loop;
    if (sizes[loop] >= kManyParts)
      return loop;
  }
  return best;
}

/// The loop of `fill` that walks along with loop `cut` of the generic which sums into the same memory.
std::optional<unsigned> loopOfFill(linalg::FillOp fill, linalg::GenericOp generic, unsigned cut) {
  OpOperand &out = generic.getDpsInitsMutable()[0];
  if (fill.getOutputs()[0] != out.get())
    return std::nullopt;
  auto results = generic.getMatchingIndexingMap(&out).getResults();
  for (auto [dim, expr] : llvm::enumerate(results))
    if (expr == getAffineDimExpr(cut, generic.getContext()))
      return dim;
  return std::nullopt;
}

Cut chooseCut(func::FuncOp kernel) {
  auto generics = kernel.getOps<linalg::GenericOp>();
  if (!llvm::hasSingleElement(generics) || !kernel.getOps<scf::ForOp>().empty())
    return {};
  linalg::GenericOp generic = *generics.begin();
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  int64_t work = 1;
  for (int64_t size : sizes)
    work *= size;
  std::optional<unsigned> loop = loopToCut(generic);
  if (!loop || sizes[*loop] < 2 || work < 2 * kLeastWork || generic.getNumDpsInits() != 1)
    return {};
  Cut cut;
  for (auto op : kernel.getOps<linalg::LinalgOp>()) {
    auto fill = dyn_cast<linalg::FillOp>(*op);
    std::optional<unsigned> mine = fill ? loopOfFill(fill, generic, *loop) : loop;
    if (!mine)
      return {};
    cut.loops.push_back({op, *mine});
  }
  cut.extent = sizes[*loop];
  cut.grain = std::max<int64_t>(1, kLeastWork / (work / cut.extent));
  if (*loop + 1 == sizes.size())
    cut.grain = llvm::alignTo(cut.grain, kNeighbours);
  return cut.grain < cut.extent ? cut : Cut();
}

struct SplitKernels : lower::impl::SplitKernelsBase<SplitKernels> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (!kernel.isExternal() && failed(lowerKernel(kernel)))
        return signalPassFailure();
  }

  LogicalResult lowerKernel(func::FuncOp kernel) {
    Cut cut = chooseCut(kernel);
    Value begin, end;
    if (!cut.loops.empty()) {
      Builder builder(&getContext());
      Type index = builder.getIndexType();
      unsigned count = kernel.getNumArguments();
      kernel.insertArguments({count, count}, {index, index}, {DictionaryAttr(), DictionaryAttr()},
                             {kernel.getLoc(), kernel.getLoc()});
      begin = kernel.getArgument(count), end = kernel.getArgument(count + 1);
      kernel->setAttr(kSplitAttr, builder.getDenseI64ArrayAttr({cut.extent, cut.grain}));
    }
    IRRewriter rewriter(&getContext());
    for (auto op : llvm::make_early_inc_range(kernel.getOps<linalg::LinalgOp>())) {
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::LinalgLoops> loops = linalg::linalgOpToLoops(rewriter, op);
      if (failed(loops))
        return op->emitOpError() << "has no form in loops"; // unreachable from input: each kernel's operation has
      for (auto [split, loop] : cut.loops)
        if (split == op) {
          auto nest = cast<scf::ForOp>((*loops)[loop]);
          nest.setLowerBound(begin);
          nest.setUpperBound(end);
        }
      rewriter.eraseOp(op);
    }
    return success();
  }
};
} // namespace
