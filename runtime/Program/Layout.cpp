// Boxes of tensors and the contiguous runs they consist of.
#include "runtime/Program/Layout.h"
#include "runtime/DType.h"
#include <algorithm>

namespace p3d {

static int64_t product(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t Layout::storageCount() const {
  return count < 0 ? product(storage) : count;
}
int64_t Layout::extentCount() const { return product(extent); }
int64_t Layout::globalCount() const { return product(global); }

void Layout::forEachRun(
    const std::function<void(int64_t, int64_t, int64_t)> &run) const {
  if (extentCount() == 0)
    return;
  // Dimensions [inner, rank) are whole on both sides, so that a run spans them
  // and the dimension before.
  int rank = int(global.size());
  int inner = rank;
  int64_t length = 1;
  while (inner > 0) {
    --inner;
    length *= extent[inner];
    if (extent[inner] != global[inner] || extent[inner] != storage[inner])
      break;
  }
  std::vector<int64_t> index(inner, 0);
  while (true) {
    int64_t globalIndex = 0, localIndex = 0;
    for (int d = 0; d < rank; ++d) {
      int64_t at = d < inner ? index[d] : 0;
      globalIndex = globalIndex * global[d] + start[d] + at;
      localIndex = localIndex * storage[d] + at;
    }
    int64_t begin = std::max(localIndex, first);
    int64_t end = localIndex + length;
    if (count >= 0)
      end = std::min(end, first + count);
    if (begin < end)
      run(globalIndex + begin - localIndex, begin - first, end - begin);
    int d = inner - 1;
    while (d >= 0 && ++index[d] == extent[d])
      index[d--] = 0;
    if (d < 0)
      return;
  }
}

Layout localLayout(const Param &param, const Mesh &mesh, Coordinates at) {
  Layout layout{param.globalShape, param.pieceOffset, param.pieceShape,
                param.pieceShape};
  for (const Shard &shard : param.shards) {
    int64_t index = 0;
    for (p3d_axis axis : shard.axes)
      index = index * mesh.along(axis) + mesh.along(axis, at);
    int64_t begin = std::min(index * shard.chunk, param.pieceShape[shard.dim]);
    int64_t end = std::min(begin + shard.chunk, param.pieceShape[shard.dim]);
    layout.start[shard.dim] = param.pieceOffset[shard.dim] + begin;
    layout.extent[shard.dim] = end - begin;
    layout.storage[shard.dim] = shard.chunk;
  }
  return layout;
}

OwnedPart ownedPart(const Param &param, const Mesh &mesh, Coordinates at) {
  int64_t size = localLayout(param, mesh, at).storageCount();
  OwnedPart part{0,       size,    param.offset, param.grad,
                 param.m, param.v, param.master};
  const RowShare &share = param.share;
  if (share.chunk == 0)
    return part;
  // Places in the row: where this rank's part of it begins, and where the
  // tensor's elements in that do.
  int64_t rowBegin = at.dp * share.chunk;
  int64_t first = std::clamp(rowBegin, share.start, share.start + size);
  int64_t last =
      std::clamp(rowBegin + share.chunk, share.start, share.start + size);
  part.begin = first - share.start;
  part.count = last - first;
  // A rank may own nothing; nothing is then read at these places.
  int64_t inPart = part.count > 0 ? first - rowBegin : 0;
  auto move = [](int64_t &place, int64_t bytes) {
    if (place >= 0)
      place += bytes;
  };
  move(part.values, (share.ofParam ? inPart : part.begin) * info(param.dtype).bytes);
  move(part.grad,
       (share.ofGrad ? inPart : part.begin) * info(param.gradDType).bytes);
  for (int64_t *state : {&part.m, &part.v, &part.master})
    move(*state, inPart * 4);
  return part;
}

Layout ownedLayout(const Param &param, const Mesh &mesh, Coordinates at) {
  Layout layout = localLayout(param, mesh, at);
  OwnedPart part = ownedPart(param, mesh, at);
  layout.first = part.begin, layout.count = part.count;
  return layout;
}

Layout valuesLayout(const Param &param, const Mesh &mesh, Coordinates at) {
  Layout layout = localLayout(param, mesh, at);
  if (param.share.ofParam)
    layout.first = at.dp * param.share.chunk, layout.count = param.share.chunk;
  return layout;
}

Layout localLayout(const Input &input, const Mesh &mesh, Coordinates at) {
  Layout layout{input.globalShape,
                std::vector<int64_t>(input.globalShape.size(), 0),
                input.globalShape, input.globalShape};
  if (input.batchDim >= 0) {
    int64_t rows = input.globalShape[input.batchDim] / mesh.dp;
    layout.start[input.batchDim] = at.dp * rows;
    layout.extent[input.batchDim] = layout.storage[input.batchDim] = rows;
  }
  return layout;
}

Layout localLayout(const Value &value, const Program &program, Coordinates at,
                   int64_t mb) {
  Layout layout{value.paddedShape,
                std::vector<int64_t>(value.paddedShape.size(), 0),
                value.paddedShape, value.paddedShape};
  for (const ValueShard &shard : value.shards) {
    int64_t index = 0, parts = 1;
    for (p3d_axis axis : shard.axes) {
      index = index * program.mesh.along(axis) + program.mesh.along(axis, at);
      parts *= program.mesh.along(axis);
    }
    if (shard.byMicrobatch) {
      index = index * program.microbatches + mb;
      parts *= program.microbatches;
    }
    int64_t rows = value.paddedShape[shard.dim] / parts;
    layout.start[shard.dim] = index * rows;
    layout.extent[shard.dim] = layout.storage[shard.dim] = rows;
  }
  return layout;
}

bool ownsCopy(const Param &param, const Mesh &mesh, Coordinates at,
              const std::vector<p3d_axis> &axes) {
  auto isFirst = [&](p3d_axis axis) {
    return !covers(axes, axis) || param.isShardedOver(axis) ||
           mesh.along(axis, at) == 0;
  };
  return param.countsInNorm && isFirst(P3D_TP_MAJOR) && isFirst(P3D_TP_MINOR) &&
         isFirst(P3D_DP);
}

} // namespace p3d
