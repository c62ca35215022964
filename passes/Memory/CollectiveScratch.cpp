#include "passes/Memory/CollectiveScratch.h"
#include "dialects/Graph/TensorBytes.h"

using namespace mlir;
using namespace p3d;

namespace {
int64_t sizeOf(exec::Group group, dist::MeshAttr mesh) {
  switch (group) {
  case exec::Group::TP:
    return mesh.getTp();
  case exec::Group::DP:
    return mesh.getDp();
  case exec::Group::PP:
    return mesh.getPp();
  case exec::Group::TPMajor:
    return mesh.getSize(dist::Axis::TPMajor);
  case exec::Group::TPMinor:
    return mesh.getSize(dist::Axis::TPMinor);
  case exec::Group::Tied:
  case exec::Group::Norm:
    break;
  }
  llvm_unreachable("a group that cuts no dimension");
}

MemRefType typeOf(ValueRange memories) { return cast<MemRefType>(memories[0].getType()); }

/// Chunks of `part` that make up the dimension `dim` of `whole`: those of equal size in the outermost one need nothing.
int64_t chunkScratch(MemRefType part, MemRefType whole, int64_t dim, int64_t ranks) {
  int64_t outer = 1;
  for (int64_t extent : part.getShape().take_front(dim))
    outer *= extent;
  bool standInRow = ranks > 1 && outer == 1 && part.getDimSize(dim) * ranks == whole.getDimSize(dim);
  return standInRow ? 0 : ranks * graph::bytesOf(part);
}
} // namespace

int64_t p3d::memory::collectiveScratch(Operation *command, dist::MeshAttr mesh) {
  if (auto gather = dyn_cast<exec::AllGatherOp>(command))
    return chunkScratch(typeOf(gather.getIns()), typeOf(gather.getOuts()), gather.getDim(), sizeOf(gather.getGroup(), mesh));
  if (auto scatter = dyn_cast<exec::ReduceScatterOp>(command))
    return chunkScratch(typeOf(scatter.getOuts()), typeOf(scatter.getIns()), scatter.getDim(), sizeOf(scatter.getGroup(), mesh));
  if (auto exchange = dyn_cast<exec::AllToAllOp>(command)) {
    // A place for the largest message to each rank, and one for that from it.
    MemRefType in = typeOf(exchange.getIns());
    int64_t message = graph::bytesOf(in) / in.getDimSize(exchange.getSplitDim()) * typeOf(exchange.getOuts()).getDimSize(exchange.getSplitDim());
    return 2 * sizeOf(exchange.getGroup(), mesh) * message;
  }
  return 0;
}
