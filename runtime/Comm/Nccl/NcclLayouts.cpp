// Collectives over chunks of a dimension. NCCL knows equal chunks one after the other; where a dimension is not the
// outermost, or its last chunk is short, parts are copied to or from such chunks in scratch memory of the stream.
#include "runtime/Comm/Nccl/NcclTransport.h"
#include "runtime/DType.h"
#include <algorithm>

namespace p3d {

/// Rows [begin, end) of `full` that the holder `index` of chunks has.
static std::pair<int64_t, int64_t> rowsOf(int index, int64_t chunk, int64_t full) {
  int64_t begin = std::min(index * chunk, full);
  return {begin, std::min(begin + chunk, full)};
}

static void clear(CUstream stream, void *data, int64_t bytes) {
  if (bytes > 0)
    P3D_CU(cuMemsetD8Async, reinterpret_cast<CUdeviceptr>(data), 0, size_t(bytes), stream);
}

void NcclTransport::allGather(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int64_t outer, int64_t chunk,
                              int64_t full, int64_t inner) {
  Group &group = groupOf(axis, 0);
  int size = group.size();
  if (chunk * size < full)
    internalError("all_gather of {} chunks of {} rows cannot fill {}", size, chunk, full);
  int64_t row = inner * info(dtype).bytes, chunkBytes = outer * chunk * row;
  bool isDirect = size > 1 && chunk * size == full && outer == 1;
  collective(group, CallKind::AllGather, [&](CUstream stream) {
    auto *gathered = static_cast<char *>(isDirect ? dst : device.launcher.scratch(stream, size * chunkBytes));
    if (size > 1)
      P3D_NCCL(ncclAllGather, src, gathered, size_t(chunkBytes), ncclInt8, group.communicator.get(), stream);
    else // by way of the scratch too: the shard may stand inside what it goes to
      P3D_CU(cuMemcpyDtoDAsync, reinterpret_cast<CUdeviceptr>(gathered), reinterpret_cast<CUdeviceptr>(src),
             size_t(chunkBytes), stream);
    if (isDirect)
      return;
    for (int member = 0; member < size; ++member) {
      auto [begin, end] = rowsOf(member, chunk, full);
      p3d_cuda_box box = {{1, 1, 1, outer, (end - begin) * row}, {0, 0, 0, chunk * row}, {0, 0, 0, full * row}};
      p3d_cuda_copy_box(&device.launcher, stream, &box, gathered + member * chunkBytes,
                        static_cast<char *>(dst) + begin * row);
    }
  });
}

void NcclTransport::reduceScatter(p3d_axis axis, p3d_reduce_kind kind, p3d_dtype dtype, const void *src, void *dst,
                                  int64_t outer, int64_t chunk, int64_t full, int64_t inner) {
  Group &group = groupOf(axis, 0);
  int size = group.size();
  if (chunk * size < full)
    internalError("reduce_scatter of {} rows does not fit {} chunks of {}", full, size, chunk);
  ncclDataType_t type = ncclTypeOf(dtype);
  ncclRedOp_t operation = ncclOperationOf(kind, dtype);
  int64_t row = inner * info(dtype).bytes, chunkBytes = outer * chunk * row;
  bool isEven = chunk * size == full;
  collective(group, CallKind::ReduceScatter, [&](CUstream stream) {
    const void *parts = src;
    if (size == 1 || !isEven || outer > 1) {
      char *packed = device.launcher.scratch(stream, size * chunkBytes);
      if (!isEven)
        clear(stream, packed, size * chunkBytes); // what a short chunk lacks is 0 after any reduction
      for (int member = 0; member < size; ++member) {
        auto [begin, end] = rowsOf(member, chunk, full);
        p3d_cuda_box box = {{1, 1, 1, outer, (end - begin) * row}, {0, 0, 0, full * row}, {0, 0, 0, chunk * row}};
        p3d_cuda_copy_box(&device.launcher, stream, &box, static_cast<const char *>(src) + begin * row,
                          packed + member * chunkBytes);
      }
      parts = packed;
    }
    if (size > 1)
      P3D_NCCL(ncclReduceScatter, parts, dst, size_t(outer * chunk * inner), type, operation, group.communicator.get(),
               stream);
    else
      P3D_CU(cuMemcpyDtoDAsync, reinterpret_cast<CUdeviceptr>(dst), reinterpret_cast<CUdeviceptr>(parts),
             size_t(chunkBytes), stream);
  });
}

namespace {
/// A tensor whose dimensions are merged into [before][lower][between][higher][behind], where lower and higher are the
/// gathered and the split dimension.
struct Exchange {
  int64_t before = 1, between = 1, behind; ///< behind: in bytes
  bool splitsLower;
  int64_t gatherFull, gatherChunk, splitFull, splitChunk;

  /// The box with these extents in the two dimensions, from storage with these to storage with those.
  struct Rows {
    int64_t gather, split;
  };
  p3d_cuda_box box(Rows extent, Rows from, Rows to) const {
    p3d_cuda_box box{};
    const int64_t extents[5] = {before, lower(extent), between, higher(extent), behind};
    int64_t source = behind, target = behind;
    const int64_t inSource[5] = {0, lower(from), between, higher(from), 0};
    const int64_t inTarget[5] = {0, lower(to), between, higher(to), 0};
    for (int d = 4; d >= 0; --d) {
      box.extent[d] = extents[d];
      if (d == 4)
        continue;
      box.source[d] = source, box.target[d] = target;
      source *= inSource[d], target *= inTarget[d];
    }
    return box;
  }
  /// Bytes from one row of the dimension to the next in storage with `rows`.
  int64_t gatherStep(Rows rows) const { return splitsLower ? behind : between * rows.split * behind; }
  int64_t splitStep(Rows rows) const { return splitsLower ? between * rows.gather * behind : behind; }
  int64_t bytes(Rows rows) const { return before * rows.gather * between * rows.split * behind; }

private:
  int64_t lower(Rows rows) const { return splitsLower ? rows.split : rows.gather; }
  int64_t higher(Rows rows) const { return splitsLower ? rows.gather : rows.split; }
};
} // namespace

static Exchange exchangeOf(p3d_dtype dtype, int rank, const int64_t *shape, int gatherDim, int64_t gatherChunk,
                           int splitDim, int64_t splitChunk) {
  Exchange e{};
  e.behind = info(dtype).bytes;
  e.splitsLower = splitDim < gatherDim;
  e.gatherFull = shape[gatherDim], e.gatherChunk = gatherChunk;
  e.splitFull = shape[splitDim], e.splitChunk = splitChunk;
  int low = std::min(gatherDim, splitDim), high = std::max(gatherDim, splitDim);
  e.before = e.between = 1;
  for (int d = 0; d < rank; ++d)
    if (d != low && d != high)
      (d < low ? e.before : d < high ? e.between : e.behind) *= shape[d];
  return e;
}

void NcclTransport::allToAll(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int rank, const int64_t *shape,
                             int gatherDim, int64_t gatherChunk, int splitDim, int64_t splitChunk) {
  Group &group = groupOf(axis, 0);
  int size = group.size(), self = group.identity.self();
  if (rank > maxShapeRank || gatherDim == splitDim || gatherDim < 0 || gatherDim >= rank || splitDim < 0 ||
      splitDim >= rank || gatherChunk * size < shape[gatherDim] || splitChunk * size < shape[splitDim])
    internalError("all_to_all of rank {} from dimension {} to {} in chunks of {} and {} over {} ranks", rank, gatherDim,
                  splitDim, gatherChunk, splitChunk, size);
  const Exchange e = exchangeOf(dtype, rank, shape, gatherDim, gatherChunk, splitDim, splitChunk);
  using Rows = Exchange::Rows;
  const Rows source{gatherChunk, e.splitFull}, target{e.gatherFull, splitChunk};
  auto [ownGather, ownGatherEnd] = rowsOf(self, gatherChunk, e.gatherFull);
  auto [ownSplit, ownSplitEnd] = rowsOf(self, splitChunk, e.splitFull);
  const int64_t gatherRows = ownGatherEnd - ownGather, splitRows = ownSplitEnd - ownSplit;
  // Largest message either way, for each peer.
  const int64_t place = e.bytes({gatherChunk, splitChunk});
  collective(group, CallKind::AllToAll, [&](CUstream stream) {
    char *packed = device.launcher.scratch(stream, 2 * size * place), *arrived = packed + size * place;
    auto rowsFor = [&](int member) {
      auto [begin, end] = rowsOf(member, splitChunk, e.splitFull);
      return Rows{gatherRows, end - begin};
    };
    auto rowsFrom = [&](int member) {
      auto [begin, end] = rowsOf(member, gatherChunk, e.gatherFull);
      return Rows{end - begin, splitRows};
    };
    for (int member = 0; member < size; ++member) {
      Rows rows = rowsFor(member);
      p3d_cuda_box box = e.box(rows, source, rows);
      p3d_cuda_copy_box(&device.launcher, stream, &box,
                        static_cast<const char *>(src) + member * splitChunk * e.splitStep(source),
                        (member == self ? arrived : packed) + member * place);
    }
    if (size > 1)
      P3D_NCCL(ncclGroupStart);
    for (int member = 0; member < size; ++member) {
      if (member == self)
        continue;
      if (int64_t bytes = e.bytes(rowsFor(member)); bytes > 0)
        P3D_NCCL(ncclSend, packed + member * place, size_t(bytes), ncclInt8, member, group.communicator.get(), stream);
      if (int64_t bytes = e.bytes(rowsFrom(member)); bytes > 0)
        P3D_NCCL(ncclRecv, arrived + member * place, size_t(bytes), ncclInt8, member, group.communicator.get(), stream);
    }
    if (size > 1)
      P3D_NCCL(ncclGroupEnd);
    if (splitRows < splitChunk)
      clear(stream, dst, e.bytes(target));
    for (int member = 0; member < size; ++member) {
      Rows rows = rowsFrom(member);
      p3d_cuda_box box = e.box(rows, rows, target);
      p3d_cuda_copy_box(&device.launcher, stream, &box, arrived + member * place,
                        static_cast<char *>(dst) + member * gatherChunk * e.gatherStep(target));
    }
  });
}

} // namespace p3d
