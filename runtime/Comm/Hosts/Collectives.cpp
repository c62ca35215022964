// The collectives of groups that span hosts. The volume is that of a ring: each part of a result has one owner, who gets
// what the others have of it, adds it up in the order of ranks, and hands the result to all. So the bits are those of
// shared memory. Buffers are gone through in pieces, so that the room for what the others have stays small.
#include "runtime/Comm/Hosts/Meeting.h"
#include "runtime/Comm/SharedMemory/Reduce.h"
#include "runtime/DType.h"
#include <algorithm>
#include <cstring>

namespace p3d {

namespace {

/// Of one member's part of a piece.
constexpr int64_t kPieceBytes = 1 << 20;
/// Up to this the first member adds up all: fewer messages.
constexpr int64_t kSmallBytes = 16 * 1024;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Rows of `full` that the holder `index` of chunks has.
Range rowsOf(int index, int64_t chunk, int64_t full) {
  int64_t begin = std::min(index * chunk, full);
  return {begin, std::min(begin + chunk, full)};
}

/// A piece of an array [outer][chunk * inner] of each member: all of some places of outer, or a part of one.
struct Piece {
  Range outer, elements;
  bool isOneRun() const { return outer.size() == 1; }
};

std::vector<Piece> piecesOf(int64_t outer, int64_t length, int64_t elementBytes) {
  std::vector<Piece> pieces;
  int64_t most = kPieceBytes / elementBytes, places = std::max<int64_t>(most / std::max<int64_t>(length, 1), 1);
  for (int64_t o = 0; o < outer; o += places)
    for (int64_t first = 0; first < length; first += most)
      pieces.push_back({{o, std::min(o + places, outer)}, {first, std::min(first + most, length)}});
  return pieces;
}

/// What member `index` holds of a piece, at each place of outer.
Range heldOf(const Piece &piece, int index, int64_t chunk, int64_t full, int64_t inner) {
  int64_t length = rowsOf(index, chunk, full).size() * inner;
  return {std::min(piece.elements.begin, length), std::min(piece.elements.end, length)};
}

} // namespace

void HostsTransport::allReduce(p3d_axis axis, int groupIndex, p3d_reduce_kind kind, p3d_dtype dtype, void *data,
                               int64_t count) {
  Communicator *group = spanning(axis, groupIndex);
  if (!group)
    return local.allReduce(axis, groupIndex, kind, dtype, data, count);
  int64_t element = info(dtype).bytes;
  arenas.offsetOf(data, count * element, "all_reduce");
  Call call{};
  call.kind = CallKind::AllReduce, call.dtype = dtype, call.reduce = kind, call.outer = count;
  Meeting meeting(*this, *group, call);
  int size = meeting.size(), self = meeting.self();
  int64_t piece = kPieceBytes / element * size;
  std::vector<char> others;
  uint32_t part = 0;
  for (int64_t first = 0; first < count; first += piece, part += 2) {
    int64_t length = std::min(piece, count - first);
    int64_t chunk = length * element <= kSmallBytes ? length : (length + size - 1) / size;
    char *base = static_cast<char *>(data) + first * element;
    auto placeOf = [&](int owner) { return base + rowsOf(owner, chunk, length).begin * element; };
    auto bytesOf = [&](int owner) { return rowsOf(owner, chunk, length).size() * element; };
    int64_t own = bytesOf(self);
    others.resize(size_t(own * size));
    for (int member = 0; member < size; ++member) {
      if (member == self || bytesOf(member) == 0)
        continue;
      meeting.send(member, part, placeOf(member), bytesOf(member));
      // It comes when the member has what is there now.
      meeting.expect(member, part + 1, placeOf(member), bytesOf(member));
    }
    if (own > 0) {
      std::vector<const char *> sources;
      for (int member = 0; member < size; ++member) {
        char *room = member == self ? placeOf(self) : others.data() + member * own;
        sources.push_back(room);
        if (member != self)
          meeting.expect(member, part, room, own);
      }
      meeting.await(part);
      reduceRange(kind, dtype, sources, {placeOf(self)}, 0, own / element);
      for (int member = 0; member < size; ++member)
        if (member != self)
          meeting.send(member, part + 1, placeOf(self), own);
    }
    meeting.finish();
  }
}

void HostsTransport::allGather(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int64_t outer,
                               int64_t chunk, int64_t full, int64_t inner) {
  Communicator *group = spanning(axis, 0);
  if (!group)
    return local.allGather(axis, dtype, src, dst, outer, chunk, full, inner);
  int64_t element = info(dtype).bytes, row = inner * element;
  Call call{};
  call.kind = CallKind::AllGather, call.dtype = dtype;
  call.outer = outer, call.chunk = chunk, call.full = full, call.inner = inner;
  arenas.offsetOf(src, outer * chunk * row, "all_gather");
  arenas.offsetOf(dst, outer * full * row, "all_gather");
  Meeting meeting(*this, *group, call);
  int size = meeting.size(), self = meeting.self();
  if (chunk * size < full)
    internalError("all_gather of {} chunks of {} rows cannot fill {}", size, chunk, full);
  auto sourceOf = [&](int64_t o, int64_t at) { return static_cast<const char *>(src) + o * chunk * row + at * element; };
  auto targetOf = [&](int member, int64_t o, int64_t at) {
    return static_cast<char *>(dst) + (o * full + rowsOf(member, chunk, full).begin) * row + at * element;
  };
  std::vector<std::vector<char>> rooms(size);
  uint32_t part = 0;
  for (const Piece &piece : piecesOf(outer, chunk * inner, element)) {
    auto held = [&](int member) { return heldOf(piece, member, chunk, full, inner); };
    auto roomOf = [&](int member) {
      rooms[member].resize(size_t(piece.outer.size() * held(member).size() * element));
      return rooms[member].data();
    };
    auto forRuns = [&](int member, auto body) {
      int64_t bytes = held(member).size() * element;
      char *room = rooms[member].data();
      for (int64_t o = piece.outer.begin; o < piece.outer.end; ++o, room += bytes)
        body(room, o, size_t(bytes));
    };
    int64_t ownBytes = piece.outer.size() * held(self).size() * element;
    const char *own = sourceOf(piece.outer.begin, held(self).begin);
    if (!piece.isOneRun()) {
      own = roomOf(self);
      forRuns(self, [&](char *room, int64_t o, size_t bytes) { std::memcpy(room, sourceOf(o, held(self).begin), bytes); });
    }
    for (int member = 0; member < size; ++member) {
      if (member == self)
        continue;
      int64_t bytes = piece.outer.size() * held(member).size() * element;
      char *room = piece.isOneRun() ? targetOf(member, piece.outer.begin, held(member).begin) : roomOf(member);
      meeting.expect(member, part, room, bytes);
      meeting.send(member, part, own, ownBytes);
    }
    meeting.finish();
    for (int64_t o = piece.outer.begin; o < piece.outer.end; ++o) // a shard may already stand in its place
      std::memmove(targetOf(self, o, held(self).begin), sourceOf(o, held(self).begin),
                   size_t(held(self).size() * element));
    if (!piece.isOneRun())
      for (int member = 0; member < size; ++member)
        if (member != self)
          forRuns(member, [&](char *room, int64_t o, size_t bytes) {
            std::memcpy(targetOf(member, o, held(member).begin), room, bytes);
          });
    ++part;
  }
}

void HostsTransport::reduceScatter(p3d_axis axis, p3d_reduce_kind kind, p3d_dtype dtype, const void *src, void *dst,
                                   int64_t outer, int64_t chunk, int64_t full, int64_t inner) {
  Communicator *group = spanning(axis, 0);
  if (!group)
    return local.reduceScatter(axis, kind, dtype, src, dst, outer, chunk, full, inner);
  int64_t element = info(dtype).bytes, row = inner * element;
  Call call{};
  call.kind = CallKind::ReduceScatter, call.dtype = dtype, call.reduce = kind;
  call.outer = outer, call.chunk = chunk, call.full = full, call.inner = inner;
  arenas.offsetOf(src, outer * full * row, "reduce_scatter");
  arenas.offsetOf(dst, outer * chunk * row, "reduce_scatter");
  Meeting meeting(*this, *group, call);
  int size = meeting.size(), self = meeting.self();
  if (chunk * size < full)
    internalError("reduce_scatter of {} rows does not fit {} chunks of {}", full, size, chunk);
  auto sourceOf = [&](int owner, int64_t o, int64_t at) {
    return static_cast<const char *>(src) + (o * full + rowsOf(owner, chunk, full).begin) * row + at * element;
  };
  std::vector<std::vector<char>> outgoing(size), incoming(size);
  uint32_t part = 0;
  for (const Piece &piece : piecesOf(outer, chunk * inner, element)) {
    auto held = [&](int member) { return heldOf(piece, member, chunk, full, inner); };
    auto pack = [&](int owner) {
      int64_t bytes = held(owner).size() * element;
      if (piece.isOneRun())
        return sourceOf(owner, piece.outer.begin, held(owner).begin);
      outgoing[owner].resize(size_t(piece.outer.size() * bytes));
      char *room = outgoing[owner].data();
      for (int64_t o = piece.outer.begin; o < piece.outer.end; ++o, room += bytes)
        std::memcpy(room, sourceOf(owner, o, held(owner).begin), size_t(bytes));
      return static_cast<const char *>(outgoing[owner].data());
    };
    int64_t own = held(self).size(), ownBytes = piece.outer.size() * own * element;
    std::vector<const char *> sources;
    for (int member = 0; member < size; ++member) {
      const char *part0 = pack(member);
      if (member != self) {
        incoming[member].resize(size_t(ownBytes));
        meeting.expect(member, part, incoming[member].data(), ownBytes);
        meeting.send(member, part, part0, piece.outer.size() * held(member).size() * element);
      }
      sources.push_back(member == self ? part0 : incoming[member].data());
    }
    meeting.finish();
    for (int64_t o = piece.outer.begin; o < piece.outer.end; ++o) {
      char *target = static_cast<char *>(dst) + o * chunk * row + held(self).begin * element;
      reduceRange(kind, dtype, sources, {target}, 0, own);
      for (const char *&source : sources)
        source += own * element;
    }
    ++part;
  }
  // Rows beyond the end.
  int64_t rows = rowsOf(self, chunk, full).size();
  for (int64_t o = 0; o < outer; ++o)
    std::memset(static_cast<char *>(dst) + (o * chunk + rows) * row, 0, size_t((chunk - rows) * row));
}

namespace {

/// The part of an array that is a range of two of its dimensions.
class Box {
public:
  Box(int rank, const int64_t *shape, int64_t element) : shape(shape, shape + rank), element(element) {}
  void setRange(int dim, Range range) { ranges.push_back({dim, range}); }
  int64_t bytes() const {
    int64_t all = element;
    for (int64_t extent : extents())
      all *= extent;
    return all;
  }
  /// Copies between the box in `array`, whose dimensions have the sizes `stored` and whose first index is `origin`,
  /// and a row of its elements.
  template <typename Copy>
  void forRuns(char *array, const std::vector<int64_t> &stored, const std::vector<int64_t> &origin, Copy copy) const {
    std::vector<int64_t> size = extents(), at(size.size());
    if (bytes() == 0)
      return;
    int64_t run = size.back() * element;
    for (int64_t row = 0;; row += run) {
      int64_t place = 0;
      for (size_t d = 0; d < size.size(); ++d)
        place = place * stored[d] + origin[d] + at[d];
      copy(array + place * element, row, size_t(run));
      int d = int(size.size()) - 2;
      while (d >= 0 && ++at[d] == size[d])
        at[d--] = 0;
      if (d < 0)
        return;
    }
  }

private:
  std::vector<int64_t> extents() const {
    std::vector<int64_t> size = shape;
    for (const auto &[dim, range] : ranges)
      size[dim] = range.size();
    return size;
  }
  std::vector<int64_t> shape;
  int64_t element;
  std::vector<std::pair<int, Range>> ranges;
};

} // namespace

void HostsTransport::allToAll(p3d_axis axis, p3d_dtype dtype, const void *src, void *dst, int dims,
                              const int64_t *shape, int gatherDim, int64_t gatherChunk, int splitDim,
                              int64_t splitChunk) {
  Communicator *group = spanning(axis, 0);
  if (!group)
    return local.allToAll(axis, dtype, src, dst, dims, shape, gatherDim, gatherChunk, splitDim, splitChunk);
  int size = int(group->members().size());
  if (dims > maxShapeRank || gatherDim == splitDim || gatherDim < 0 || gatherDim >= dims || splitDim < 0 ||
      splitDim >= dims || gatherChunk * size < shape[gatherDim] || splitChunk * size < shape[splitDim])
    internalError("all_to_all of rank {} from dimension {} to {} in chunks of {} and {} over {} ranks", dims,
                  gatherDim, splitDim, gatherChunk, splitChunk, size);
  Call call{};
  call.kind = CallKind::AllToAll, call.dtype = dtype, call.shapeRank = dims;
  call.gatherDim = gatherDim, call.gatherChunk = gatherChunk, call.splitDim = splitDim, call.splitChunk = splitChunk;
  std::copy(shape, shape + dims, call.shape);
  int64_t element = info(dtype).bytes, sourceBytes = element, targetBytes = element;
  std::vector<int64_t> sourceShape(shape, shape + dims), targetShape = sourceShape;
  sourceShape[gatherDim] = gatherChunk, targetShape[splitDim] = splitChunk;
  for (int d = 0; d < dims; ++d)
    sourceBytes *= sourceShape[d], targetBytes *= targetShape[d];
  arenas.offsetOf(src, sourceBytes, "all_to_all");
  arenas.offsetOf(dst, targetBytes, "all_to_all");

  Meeting meeting(*this, *group, call);
  int self = meeting.self();
  // What `from` has for `to`, in the order of the whole array's elements.
  auto boxOf = [&](int from, int to) {
    Box box(dims, shape, element);
    box.setRange(gatherDim, rowsOf(from, gatherChunk, shape[gatherDim]));
    box.setRange(splitDim, rowsOf(to, splitChunk, shape[splitDim]));
    return box;
  };
  std::vector<std::vector<char>> outgoing(size), incoming(size);
  for (int member = 0; member < size; ++member) {
    Box box = boxOf(self, member);
    std::vector<int64_t> origin(dims);
    origin[splitDim] = rowsOf(member, splitChunk, shape[splitDim]).begin;
    outgoing[member].resize(size_t(box.bytes()));
    box.forRuns(static_cast<char *>(const_cast<void *>(src)), sourceShape, origin,
                [&](char *place, int64_t row, size_t bytes) {
                  std::memcpy(outgoing[member].data() + row, place, bytes);
                });
    if (member == self) {
      incoming[self] = std::move(outgoing[self]);
      continue;
    }
    incoming[member].resize(size_t(boxOf(member, self).bytes()));
    meeting.expect(member, 0, incoming[member].data(), int64_t(incoming[member].size()));
    meeting.send(member, 0, outgoing[member].data(), int64_t(outgoing[member].size()));
  }
  meeting.finish();
  if (rowsOf(self, splitChunk, shape[splitDim]).size() < splitChunk)
    std::memset(dst, 0, size_t(targetBytes));
  for (int member = 0; member < size; ++member) {
    std::vector<int64_t> origin(dims);
    origin[gatherDim] = rowsOf(member, gatherChunk, shape[gatherDim]).begin;
    boxOf(member, self)
        .forRuns(static_cast<char *>(dst), targetShape, origin, [&](char *place, int64_t row, size_t bytes) {
          std::memcpy(place, incoming[member].data() + row, bytes);
        });
  }
}

void HostsTransport::sumOverNorm(double *value) {
  Communicator *group = spanning(P3D_NORM, 0);
  if (!group)
    return local.sumOverNorm(value);
  Call call{};
  call.kind = CallKind::SumScalar;
  call.scalar = *value;
  Meeting meeting(*this, *group, call);
  constexpr int64_t bytes = sizeof(double);
  if (meeting.self() != 0) {
    meeting.send(0, 0, &call.scalar, bytes);
    meeting.expect(0, 1, value, bytes);
    return meeting.finish();
  }
  std::vector<double> values(size_t(meeting.size()));
  for (int member = 1; member < meeting.size(); ++member)
    meeting.expect(member, 0, &values[member], bytes);
  meeting.finish();
  values[0] = *value;
  *value = 0;
  for (double each : values)
    *value += each;
  for (int member = 1; member < meeting.size(); ++member)
    meeting.send(member, 1, value, bytes);
  meeting.finish();
}

} // namespace p3d
