#include "passes/Memory/Fusion.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"
#include "passes/Memory/ShapeIndices.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
bool isSplat(graph::ConstantOp op) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  return value && value.isSplat();
}

bool isElementwise(Operation *op) {
  return op->hasTrait<graph::Elementwise>();
}

/// Costs less to compute again than to read back.
bool isFree(Operation *op) {
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return isSplat(constant);
  return isIndexChange(op) || isa<graph::IotaOp, graph::ConvertOp>(op);
}

/// Computes each element of `op`'s operand many times.
bool repeats(Operation *op) {
  return isa<graph::BroadcastOp>(op) &&
         graph::tensorType(op->getOperand(0)).getNumElements() < graph::tensorType(op->getResult(0)).getNumElements();
}
} // namespace

bool p3d::memory::isFusable(Operation *op) {
  if (!op)
    return false;
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return isSplat(constant);
  return isElementwise(op) || isIndexChange(op) || isa<graph::IotaOp, dist::MaskPaddingOp>(op);
}

bool p3d::memory::isGenerated(Operation *op) {
  return op && (isFusable(op) || isa<graph::ReduceOp, graph::ConcatOp, graph::PadOp>(op));
}

Fusion::Fusion(Block &block) {
  for (Operation &op : llvm::reverse(block))
    for (Value value : op.getResults()) {
      if (value.use_empty())
        continue;
      auto kernels = kernelsOf(value);
      bool isFused = isFusable(&op) && kernels && (isFree(&op) || kernels->size() == 1);
      if (isFused)
        fusedInto[value] = *kernels;
      else
        stored.insert(value);
    }
}

std::optional<Fusion::Kernels> Fusion::kernelsOf(Value value) {
  Operation *op = value.getDefiningOp();
  Kernels kernels;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    bool takesMemory = !isGenerated(user) && !isa<pipe::AccumulateOp>(user);
    bool isCostly = repeats(user) && !isFree(op);
    if (takesMemory || isCostly)
      return std::nullopt;
    if (!isFusable(user)) {
      // A concatenation has one kernel per operand, other roots have one.
      kernels.insert(isa<graph::ConcatOp>(user) ? &use : &user->getOpOperand(0));
      continue;
    }
    for (Value result : user->getResults()) {
      if (stored.contains(result))
        kernels.insert(&user->getOpOperand(result == user->getResult(0) ? 0 : 1));
      else if (auto fused = fusedInto.find(result); fused != fusedInto.end())
        for (OpOperand *kernel : fused->second)
          kernels.insert(kernel);
    }
  }
  return kernels;
}
