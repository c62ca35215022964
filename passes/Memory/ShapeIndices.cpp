#include "passes/Memory/ShapeIndices.h"
#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace p3d;
using namespace p3d::memory;

namespace {
/// A run of operand dimensions and one of result dimensions with the same number of elements, the shortest ones.
struct DimGroup {
  SmallVector<unsigned> operand, result;
};

SmallVector<DimGroup> reshapeGroups(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<DimGroup> groups;
  unsigned i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    DimGroup &group = groups.emplace_back();
    int64_t left = 1, right = 1;
    if (i < from.size())
      group.operand.push_back(i), left *= from[i++];
    while (left != right || (i == from.size() && j < to.size())) {
      if ((left >= right && j < to.size()) || i == from.size())
        group.result.push_back(j), right *= to[j++];
      else
        group.operand.push_back(i), left *= from[i++];
    }
  }
  return groups;
}

bool isLinearReshape(graph::ReshapeOp op) {
  auto from = op.getOperand().getType().getShape(), to = op.getType().getShape();
  if (llvm::is_contained(from, 0))
    return false;
  return llvm::all_of(reshapeGroups(from, to), [&](const DimGroup &group) {
    return llvm::count_if(group.operand, [&](unsigned dim) { return from[dim] != 1; }) <= 1;
  });
}

Indices reshapeIndices(graph::ReshapeOp op, ArrayRef<LinearIndex> indices, unsigned loopCount) {
  auto from = op.getOperand().getType().getShape(), to = op.getType().getShape();
  Indices result(from.size(), LinearIndex(loopCount));
  for (const DimGroup &group : reshapeGroups(from, to)) {
    LinearIndex whole(loopCount);
    for (unsigned dim : group.result)
      whole = whole * to[dim] + indices[dim];
    for (unsigned dim : group.operand)
      if (from[dim] != 1)
        result[dim] = whole;
  }
  return result;
}

Indices broadcastIndices(graph::BroadcastOp op, ArrayRef<LinearIndex> indices, unsigned loopCount) {
  Indices result;
  for (auto [size, dim] : llvm::zip(op.getOperand().getType().getShape(), op.getDims()))
    result.push_back(size == 1 ? LinearIndex(loopCount) : indices[dim]);
  return result;
}

Indices transposeIndices(graph::TransposeOp op, ArrayRef<LinearIndex> indices, unsigned loopCount) {
  Indices result(indices.size(), LinearIndex(loopCount));
  for (auto [index, dim] : llvm::zip(indices, op.getPermutation()))
    result[dim] = index;
  return result;
}

Indices sliceIndices(graph::SliceOp op, ArrayRef<LinearIndex> indices) {
  Indices result;
  for (auto [index, start, stride] : llvm::zip(indices, op.getStarts(), op.getStrides()))
    result.push_back(index * stride + start);
  return result;
}

Indices reverseIndices(graph::ReverseOp op, ArrayRef<LinearIndex> indices) {
  Indices result(indices.begin(), indices.end());
  auto shape = graph::tensorType(op.getResult()).getShape();
  for (int64_t dim : op.getDims())
    result[dim] = result[dim] * -1 + (shape[dim] - 1);
  return result;
}

/// Whether every shard is full, so that no row lies beyond the end.
bool isEvenSlice(dist::ShardSliceOp op) {
  auto mesh = op->getParentOfType<ModuleOp>()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
  int64_t full = graph::tensorType(op.getOperand()).getDimSize(op.getDim());
  return mesh && graph::tensorType(op.getResult()).getDimSize(op.getDim()) * mesh.getSize(op.getAxis()) <= full;
}
} // namespace

bool p3d::memory::isIndexChange(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<graph::BroadcastOp, graph::TransposeOp, graph::SliceOp, graph::ReverseOp, graph::StopGradientOp>(
          [](Operation *) { return true; })
      .Case([](graph::ReshapeOp op) { return isLinearReshape(op); })
      .Case([](dist::ShardSliceOp op) { return isEvenSlice(op); })
      .Default(false);
}

Indices p3d::memory::operandIndices(Operation *op, ArrayRef<LinearIndex> indices, unsigned loopCount,
                                    function_ref<Value(Operation *)> start) {
  return TypeSwitch<Operation *, Indices>(op)
      .Case([&](graph::BroadcastOp op) { return broadcastIndices(op, indices, loopCount); })
      .Case([&](graph::TransposeOp op) { return transposeIndices(op, indices, loopCount); })
      .Case([&](graph::SliceOp op) { return sliceIndices(op, indices); })
      .Case([&](graph::ReverseOp op) { return reverseIndices(op, indices); })
      .Case([&](graph::ReshapeOp op) { return reshapeIndices(op, indices, loopCount); })
      .Case([&](dist::ShardSliceOp op) {
        Indices result(indices.begin(), indices.end());
        result[op.getDim()].starts.emplace_back(start(op), 1);
        return result;
      })
      .Default([&](Operation *) { return Indices(indices.begin(), indices.end()); });
}
