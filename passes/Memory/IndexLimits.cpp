#include "passes/Memory/IndexLimits.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Exec/ExecOps.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Pipe/PipeOps.h"

using namespace mlir;
using namespace p3d;

int64_t p3d::memory::tableRows(Operation *op, RankedTensorType table) {
  auto shard = op->getAttrOfType<dist::ShardAttr>(dist::kShardAttr);
  return shard && shard.getDim() == 0 ? shard.getFull() : table.getDimSize(0);
}

/// The least limit that a user of `ids` sets, through operations that keep the values; 0 for none.
static int64_t limitOf(Value ids) {
  int64_t limit = 0;
  auto meet = [&](int64_t other) { limit = !limit || (other && other < limit) ? other : limit; };
  for (OpOperand &use : ids.getUses()) {
    Operation *user = use.getOwner();
    if (auto embedding = dyn_cast<graph::EmbeddingOp>(user))
      meet(memory::tableRows(user, embedding.getTable().getType()));
    else if (isa<graph::ReshapeOp, graph::SliceOp, graph::TransposeOp, dist::ShardSliceOp>(user))
      meet(limitOf(user->getResult(0)));
    else if (auto call = dyn_cast<graph::CallOp>(user))
      meet(limitOf(call.lookupBlock().getArgument(use.getOperandNumber())));
  }
  return limit;
}

void p3d::memory::markIndexLimits(ModuleOp module) {
  module.walk([](pipe::ReadOp read) {
    pipe::BufferOp buffer = read->getParentOfType<pipe::StageOp>().getBuffer(read.getBuffer());
    if (!buffer || buffer.getKind() != pipe::BufferKind::Input)
      return;
    int64_t limit = limitOf(read);
    auto known = buffer->getAttrOfType<IntegerAttr>(exec::kIndexLimitAttr);
    if (limit && (!known || limit < known.getInt()))
      buffer->setAttr(exec::kIndexLimitAttr, IntegerAttr::get(IntegerType::get(buffer.getContext(), 64), limit));
  });
}
