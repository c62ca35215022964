// The collectives of the shared-memory transport: what each member copies or
// reduces once all have arrived.
#include "runtime/Comm/SharedMemory/Reduce.h"
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "runtime/DType.h"
#include <algorithm>
#include <cstring>

namespace p3d {

/// Rows [begin, end) of `full` that the holder `index` of chunks has.
static std::pair<int64_t, int64_t> rowsOf(int index, int64_t chunk,
                                          int64_t full) {
  int64_t begin = std::min(index * chunk, full);
  return {begin, std::min(begin + chunk, full)};
}

void SharedMemoryTransport::allReduce(p3d_axis axis, int groupIndex,
                                      p3d_reduce_kind kind, p3d_dtype dtype,
                                      void *data, int64_t count) {
  Communicator &group = communicator(axis, groupIndex);
  int64_t bytes = count * info(dtype).bytes;
  Call call{};
  call.kind = CallKind::AllReduce;
  call.dtype = dtype;
  call.reduce = kind;
  call.source = arenas.offsetOf(data, bytes, "all_reduce");
  call.outer = count;
  int64_t size = int64_t(group.members().size());
  if (size == 1)
    return;
  // Chunks in whole cache lines, so that owners do not write to the same one.
  int64_t chunk = (count + size - 1) / size;
  chunk = (chunk + 63) / 64 * 64;
  meet(group, call, bytes, [&](int index) {
    auto [begin, end] = rowsOf(index, chunk, count);
    std::vector<const char *> sources;
    std::vector<char *> targets;
    for (int member = 0; member < size; ++member) {
      sources.push_back(source(group, member));
      targets.push_back(source(group, member));
    }
    reduceRange(kind, dtype, sources, targets, begin, end);
  });
}

void SharedMemoryTransport::allGather(p3d_axis axis, p3d_dtype dtype,
                                      const void *src, void *dst, int64_t outer,
                                      int64_t chunk, int64_t full,
                                      int64_t inner) {
  Communicator &group = communicator(axis, 0);
  int64_t row = inner * info(dtype).bytes;
  int size = int(group.members().size());
  if (chunk * size < full)
    internalError("all_gather of {} chunks of {} rows cannot fill {}", size,
                  chunk, full);
  Call call{};
  call.kind = CallKind::AllGather;
  call.dtype = dtype;
  call.outer = outer, call.chunk = chunk, call.full = full, call.inner = inner;
  call.source = arenas.offsetOf(src, outer * chunk * row, "all_gather");
  call.destination = arenas.offsetOf(dst, outer * full * row, "all_gather");
  meet(group, call, outer * full * row, [&](int index) {
    char *target = destination(group, index);
    for (int member = 0; member < size; ++member) {
      auto [begin, end] = rowsOf(member, chunk, full);
      const char *from = source(group, member);
      for (int64_t o = 0; o < outer; ++o) {
        char *to = target + (o * full + begin) * row;
        // A shard may already stand in its place.
        std::memmove(to, from + o * chunk * row, size_t((end - begin) * row));
      }
    }
  });
}

void SharedMemoryTransport::reduceScatter(p3d_axis axis, p3d_reduce_kind kind,
                                          p3d_dtype dtype, const void *src,
                                          void *dst, int64_t outer,
                                          int64_t chunk, int64_t full,
                                          int64_t inner) {
  Communicator &group = communicator(axis, 0);
  int64_t row = inner * info(dtype).bytes;
  int size = int(group.members().size());
  if (chunk * size < full)
    internalError("reduce_scatter of {} rows does not fit {} chunks of {}",
                  full, size, chunk);
  Call call{};
  call.kind = CallKind::ReduceScatter;
  call.dtype = dtype;
  call.reduce = kind;
  call.outer = outer, call.chunk = chunk, call.full = full, call.inner = inner;
  call.source = arenas.offsetOf(src, outer * full * row, "reduce_scatter");
  call.destination =
      arenas.offsetOf(dst, outer * chunk * row, "reduce_scatter");
  meet(group, call, outer * full * row, [&](int index) {
    auto [begin, end] = rowsOf(index, chunk, full);
    std::vector<const char *> sources(size);
    for (int64_t o = 0; o < outer; ++o) {
      for (int member = 0; member < size; ++member)
        sources[member] = source(group, member) + (o * full + begin) * row;
      char *target = destination(group, index) + o * chunk * row;
      int64_t rows = end - begin;
      reduceRange(kind, dtype, sources, {target}, 0, rows * inner);
      std::memset(target + rows * row, 0, size_t((chunk - rows) * row));
    }
  });
}

namespace {
/// One dimension of a box that is copied between two strided arrays.
struct BoxDim {
  int64_t extent, sourceStride, targetStride; // strides in bytes
};
} // namespace

static void copyBox(const char *source, char *target, const BoxDim *dims,
                    size_t count, int64_t runBytes) {
  if (count == 0) {
    std::memcpy(target, source, size_t(runBytes));
    return;
  }
  for (int64_t i = 0; i < dims->extent; ++i)
    copyBox(source + i * dims->sourceStride, target + i * dims->targetStride,
            dims + 1, count - 1, runBytes);
}

void SharedMemoryTransport::allToAll(p3d_axis axis, p3d_dtype dtype,
                                     const void *src, void *dst, int rank,
                                     const int64_t *shape, int gatherDim,
                                     int64_t gatherChunk, int splitDim,
                                     int64_t splitChunk) {
  Communicator &group = communicator(axis, 0);
  int size = int(group.members().size());
  if (rank > maxShapeRank || gatherDim == splitDim || gatherDim < 0 ||
      gatherDim >= rank || splitDim < 0 || splitDim >= rank ||
      gatherChunk * size < shape[gatherDim] ||
      splitChunk * size < shape[splitDim])
    internalError("all_to_all of rank {} from dimension {} to {} in chunks of "
                  "{} and {} over {} ranks",
                  rank, gatherDim, splitDim, gatherChunk, splitChunk, size);
  Call call{};
  call.kind = CallKind::AllToAll;
  call.dtype = dtype;
  call.shapeRank = rank;
  call.gatherDim = gatherDim, call.gatherChunk = gatherChunk;
  call.splitDim = splitDim, call.splitChunk = splitChunk;
  std::copy(shape, shape + rank, call.shape);

  int64_t element = info(dtype).bytes;
  int64_t sourceBytes = element, targetBytes = element;
  std::vector<BoxDim> dims(rank);
  for (int d = rank - 1; d >= 0; --d) {
    dims[d] = {shape[d], sourceBytes, targetBytes};
    sourceBytes *= d == gatherDim ? gatherChunk : shape[d];
    targetBytes *= d == splitDim ? splitChunk : shape[d];
  }
  call.source = arenas.offsetOf(src, sourceBytes, "all_to_all");
  call.destination = arenas.offsetOf(dst, targetBytes, "all_to_all");

  // Dimensions behind the last of the two are copied as one run.
  size_t outer = size_t(std::max(gatherDim, splitDim)) + 1;
  int64_t run = dims[outer - 1].sourceStride;
  meet(group, call, sourceBytes, [&](int index) {
    auto [splitBegin, splitEnd] = rowsOf(index, splitChunk, shape[splitDim]);
    char *target = destination(group, index);
    if (splitEnd - splitBegin < splitChunk)
      std::memset(target, 0, size_t(targetBytes));
    for (int member = 0; member < size; ++member) {
      auto [gatherBegin, gatherEnd] =
          rowsOf(member, gatherChunk, shape[gatherDim]);
      std::vector<BoxDim> box = dims;
      box[gatherDim].extent = gatherEnd - gatherBegin;
      box[splitDim].extent = splitEnd - splitBegin;
      const char *from =
          source(group, member) + splitBegin * dims[splitDim].sourceStride;
      copyBox(from, target + gatherBegin * dims[gatherDim].targetStride,
              box.data(), outer, run);
    }
  });
}

} // namespace p3d
