// The collectives of the shared-memory transport: what is to be copied or reduced
// once all have arrived. Work stands in a row of runs, contiguous in memory, of
// which any range can be done by itself.
#include "runtime/Comm/SharedMemory/Reduce.h"
#include "runtime/Comm/SharedMemory/SharedMemoryTransport.h"
#include "runtime/DType.h"
#include <algorithm>
#include <cstring>

namespace p3d {

/// Rows [begin, end) of `full` that the holder `index` of chunks has.
static std::pair<int64_t, int64_t> rowsOf(int index, int64_t chunk, int64_t full) {
  int64_t begin = std::min(index * chunk, full);
  return {begin, std::min(begin + chunk, full)};
}

/// Calls body(run, from, to) for the places [from, to) of each run of `length`
/// that the range [begin, end) of the row of runs has a part in.
template <typename Body> static void forRuns(int64_t begin, int64_t end, int64_t length, Body body) {
  for (int64_t at = begin; at < end;) {
    int64_t run = at / length, start = run * length;
    int64_t next = std::min(end, start + length);
    body(run, at - start, next - start);
    at = next;
  }
}

void SharedMemoryTransport::allReduce(p3d_axis axis, int groupIndex, p3d_reduce_kind kind, p3d_dtype dtype, void *data,
                                      int64_t count) {
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
  auto run = [&](int64_t begin, int64_t end) {
    std::vector<const char *> from = sources(group);
    std::vector<char *> to;
    to.reserve(from.size());
    for (const char *data : from)
      to.push_back(const_cast<char *>(data)); // in place
    reduceRange(kind, dtype, from, to, begin, end);
  };
  meet(group, call, {count, 64, 2 * size * info(dtype).bytes, run});
}

void SharedMemoryTransport::allGather(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int64_t outer,
                                      int64_t chunk, int64_t full, int64_t inner) {
  Communicator &group = communicator(axis, 0);
  int64_t row = inner * info(dtype).bytes;
  int size = int(group.members().size());
  if (chunk * size < full)
    internalError("all_gather of {} chunks of {} rows cannot fill {}", size, chunk, full);
  Call call{};
  call.kind = CallKind::AllGather;
  call.dtype = dtype;
  call.outer = outer, call.chunk = chunk, call.full = full, call.inner = inner;
  call.source = arenas.offsetOf(src, outer * chunk * row, "all_gather");
  call.destination = arenas.offsetOf(dst, outer * full * row, "all_gather");
  // A run is what one member has for another at one place of outer. Targets are filled one after the other: that is
  // faster than to read a source only once and to write to many places.
  int64_t length = chunk * row;
  auto run = [&](int64_t begin, int64_t end) {
    std::vector<const char *> from = sources(group);
    std::vector<char *> to = destinations(group);
    forRuns(begin, end, length, [&](int64_t run, int64_t first, int64_t last) {
      int64_t o = run % outer, member = run / outer % size, target = run / outer / size;
      auto [firstRow, lastRow] = rowsOf(int(member), chunk, full);
      last = std::min(last, (lastRow - firstRow) * row);
      const char *data = from[member] + o * length + first;
      char *place = to[target] + (o * full + firstRow) * row + first;
      if (first < last && place != data) // a shard may already stand in its place
        std::memcpy(place, data, size_t(last - first));
    });
  };
  meet(group, call, {int64_t(size) * size * outer * length, 4096, 2, run});
}

void SharedMemoryTransport::reduceScatter(p3d_axis axis, p3d_reduce_kind kind, p3d_dtype dtype, const void *src,
                                          void *dst, int64_t outer, int64_t chunk, int64_t full, int64_t inner) {
  Communicator &group = communicator(axis, 0);
  int64_t row = inner * info(dtype).bytes;
  int size = int(group.members().size());
  if (chunk * size < full)
    internalError("reduce_scatter of {} rows does not fit {} chunks of {}", full, size, chunk);
  Call call{};
  call.kind = CallKind::ReduceScatter;
  call.dtype = dtype;
  call.reduce = kind;
  call.outer = outer, call.chunk = chunk, call.full = full, call.inner = inner;
  call.source = arenas.offsetOf(src, outer * full * row, "reduce_scatter");
  call.destination = arenas.offsetOf(dst, outer * chunk * row, "reduce_scatter");
  int64_t length = chunk * inner; // of a run: an owner's rows at one place of outer
  auto run = [&](int64_t begin, int64_t end) {
    std::vector<const char *> whole = sources(group), from(whole.size());
    std::vector<char *> owners = destinations(group), to(1);
    forRuns(begin, end, length, [&](int64_t run, int64_t first, int64_t last) {
      int64_t owner = run / outer, o = run % outer;
      auto [firstRow, lastRow] = rowsOf(int(owner), chunk, full);
      int64_t filled = std::clamp((lastRow - firstRow) * inner, first, last);
      for (size_t member = 0; member < from.size(); ++member)
        from[member] = whole[member] + (o * full + firstRow) * row;
      to[0] = owners[owner] + o * chunk * row;
      reduceRange(kind, dtype, from, to, first, filled);
      int64_t element = info(dtype).bytes;
      std::memset(to[0] + filled * element, 0, size_t((last - filled) * element));
    });
  };
  meet(group, call, {size * outer * length, 64, (size + 1) * info(dtype).bytes, run});
}

namespace {
/// One dimension of a box that is copied between two strided arrays.
struct BoxDim {
  int64_t extent, sourceStride, targetStride; // strides in bytes
};
} // namespace

/// Copies a box whose innermost runs have `runBytes`; clears it where there is no
/// source.
static void copyBox(const char *source, char *target, const BoxDim *dims, size_t count, int64_t runBytes) {
  if (count == 0) {
    if (source)
      std::memcpy(target, source, size_t(runBytes));
    else
      std::memset(target, 0, size_t(runBytes));
    return;
  }
  for (int64_t i = 0; i < dims->extent; ++i)
    copyBox(source ? source + i * dims->sourceStride : nullptr, target + i * dims->targetStride, dims + 1, count - 1,
            runBytes);
}

static void copyBox(const char *source, char *target, const std::vector<BoxDim> &dims, int64_t elementBytes) {
  // Inner dimensions that are contiguous on both sides are one run.
  size_t count = dims.size();
  int64_t run = elementBytes;
  while (count > 0 && dims[count - 1].targetStride == run && (!source || dims[count - 1].sourceStride == run))
    run *= dims[--count].extent;
  copyBox(source, target, dims.data(), count, run);
}

void SharedMemoryTransport::allToAll(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int rank,
                                     const int64_t *shape, int gatherDim, int64_t gatherChunk, int splitDim,
                                     int64_t splitChunk) {
  Communicator &group = communicator(axis, 0);
  int size = int(group.members().size());
  if (rank > maxShapeRank || gatherDim == splitDim || gatherDim < 0 || gatherDim >= rank || splitDim < 0 ||
      splitDim >= rank || gatherChunk * size < shape[gatherDim] || splitChunk * size < shape[splitDim])
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

  // A unit is what one member has for another.
  auto run = [&](int64_t begin, int64_t end) {
    std::vector<const char *> from = sources(group);
    std::vector<char *> to = destinations(group);
    for (int64_t unit = begin; unit < end; ++unit) {
      int target = int(unit / size), member = int(unit % size);
      auto [splitBegin, splitEnd] = rowsOf(target, splitChunk, shape[splitDim]);
      auto [gatherBegin, gatherEnd] = rowsOf(member, gatherChunk, shape[gatherDim]);
      std::vector<BoxDim> box = dims;
      box[gatherDim].extent = gatherEnd - gatherBegin;
      box[splitDim].extent = splitEnd - splitBegin;
      char *place = to[target] + gatherBegin * dims[gatherDim].targetStride;
      copyBox(from[member] + splitBegin * dims[splitDim].sourceStride, place, box, element);
      // Rows beyond the end are zero.
      box[splitDim].extent = splitChunk - (splitEnd - splitBegin);
      place += (splitEnd - splitBegin) * dims[splitDim].targetStride;
      copyBox(nullptr, place, box, element);
    }
  };
  meet(group, call, {int64_t(size) * size, 1, 2 * sourceBytes / size, run});
}

} // namespace p3d
