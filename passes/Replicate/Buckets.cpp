#include "passes/Replicate/Buckets.h"
#include "dialects/Graph/TensorBytes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::pipe;

/// For each buffer the last operation of the backward tasks that adds to it: behind it the buffer is complete.
static llvm::StringMap<int64_t> completionOrder(StageOp stage) {
  llvm::StringMap<int64_t> order;
  int64_t number = 0;
  stage.walk([&](AccumulateOp op) { order[op.getBuffer()] = number++; });
  return order;
}

SmallVector<BufferOp> p3d::gradientsOf(StageOp stage) {
  SmallVector<BufferOp> gradients;
  for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::Gradient)
      gradients.push_back(buffer);
  return gradients;
}

void p3d::sortByCompletion(StageOp stage) {
  llvm::StringMap<int64_t> order = completionOrder(stage);
  SmallVector<BufferOp> gradients = gradientsOf(stage);
  if (gradients.empty())
    return;
  Operation *behind = gradients.back()->getNextNode();
  llvm::stable_sort(gradients, [&](BufferOp a, BufferOp b) { return order.lookup(a.getSymName()) < order.lookup(b.getSymName()); });
  for (BufferOp buffer : gradients)
    buffer->moveBefore(behind);
}

std::vector<SmallVector<BufferOp>> p3d::makeBuckets(ArrayRef<BufferOp> buffers, int64_t bucketBytes, llvm::function_ref<Attribute(BufferOp)> keyOf) {
  std::vector<SmallVector<BufferOp>> buckets;
  llvm::MapVector<Attribute, SmallVector<SmallVector<BufferOp>>> byKey;
  llvm::DenseMap<Attribute, int64_t> filled;
  for (BufferOp buffer : buffers) {
    Attribute key = keyOf(buffer);
    int64_t bytes = graph::bytesOf(buffer.getTensorType());
    if (byKey[key].empty() || filled[key] + bytes > bucketBytes) {
      byKey[key].emplace_back();
      filled[key] = 0;
    }
    filled[key] += bytes;
    byKey[key].back().push_back(buffer);
  }
  for (auto &[key, lists] : byKey)
    llvm::append_range(buckets, lists);
  return buckets;
}

ArrayAttr p3d::namesOf(ArrayRef<BufferOp> bucket) {
  SmallVector<Attribute> names;
  for (BufferOp buffer : bucket)
    names.push_back(FlatSymbolRefAttr::get(buffer.getSymNameAttr()));
  return ArrayAttr::get(bucket.front()->getContext(), names);
}

bool p3d::isPartial(BufferOp buffer, dist::Axis axis) {
  auto sharding = buffer->getAttrOfType<dist::ShardingAttr>(dist::kShardingAttr);
  return sharding && llvm::is_contained(sharding.getUnreduced(), axis);
}
