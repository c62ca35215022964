// Adds rows into a tensor by index (the gradient of an embedding), without atomics: the ids are brought into the order
// of a stable sort (Rank.cuh), then one block for each row that is named adds its updates in f32 in the order of the
// ids and writes the row once. Traffic: updates once, each named row of x once. A row that is named very often
// (padding) is the work of one block per group of columns, which has 4 updates in flight.
#include "kernels/Indices.cuh"
#include "kernels/Rank.cuh"

using namespace p3d;

namespace {

constexpr uint32_t nowhere = 0xffffffffu; // sorts behind every row

P3D_DEVICE void sortIds(Ids ids, int i, int32_t *order, uint32_t *rows) {
  int64_t batch = blockIndexY();
  auto keyAt = [&](int at) {
    int64_t row = ids.row(batch * i + at);
    return row < 0 ? nowhere : static_cast<uint32_t>(row);
  };
  int index = blockIndex() * rankThreads + threadIndex(), rank = rankOf<uint32_t>(index, i, keyAt);
  if (index >= i)
    return;
  order[batch * i + rank] = index;
  rows[batch * i + rank] = keyAt(index);
}

/// A block per sorted position, group of columns, and slab; those that are not the first of their row have nothing to
/// do.
template <typename T, typename X>
P3D_DEVICE void addRows(const T *updates, const int32_t *order, const uint32_t *rows, X *x, int64_t slab, int64_t batch,
                        int64_t n, int i, int inner) {
  constexpr int inFlight = 4;
  int at = blockIndex();
  order += batch * i;
  rows += batch * i;
  uint32_t row = rows[at];
  int col = (blockIndexY() * threadCount() + threadIndex()) * chunkSize<T>, count = inner - col;
  if (row == nowhere || (at > 0 && rows[at - 1] == row) || count <= 0)
    return;
  bool whole = count >= chunkSize<T> && isAligned(updates) && inner % chunkSize<T> == 0;
  X *to = x + (slab * n + row) * inner + col;
  float sum[chunkSize<T>];
  loadRange(to, count, sum);
  for (int end; at < i && rows[at] == row; at = end) {
    for (end = at + 1; end < at + inFlight && end < i && rows[end] == row; ++end) {
    }
    float added[inFlight][chunkSize<T>];
    P3D_UNROLL
    for (int u = 0; u < inFlight; ++u)
      if (at + u < end)
        loadChunk(updates + (slab * i + order[at + u]) * inner + col, count, whole, added[u]);
    P3D_UNROLL
    for (int u = 0; u < inFlight; ++u)
      P3D_UNROLL
    for (int e = 0; e < chunkSize<T>; ++e)
      if (at + u < end)
        sum[e] += added[u][e];
  }
  storeRange(to, count, sum);
}

template <typename T>
P3D_DEVICE void scatterAdd(const T *updates, const int32_t *order, const uint32_t *rows, void *x, int32_t xIsF32,
                           int64_t slabs, int64_t outer, int64_t n, int32_t i, int32_t inner) {
  for (int64_t slab = blockIndexZ(); slab < slabs; slab += blockCountZ())
    if (xIsF32)
      addRows(updates, order, rows, static_cast<float *>(x), slab, slab / outer, n, i, inner);
    else
      addRows(updates, order, rows, static_cast<T *>(x), slab, slab / outer, n, i, inner);
}

} // namespace

P3D_KERNEL(256)
p3d_scatter_order(const void *ids, int32_t idDtype, int64_t extent, int64_t start, int32_t i, int32_t *order,
                  uint32_t *rows) {
  sortIds({ids, idDtype, extent, start}, i, order, rows);
}

/// Zeros, 16 bytes at a time where `to` is aligned.
P3D_KERNEL(256) p3d_zero(uint8_t *to, int64_t bytes) {
  int64_t chunks = isAligned(to) ? bytes / 16 : 0;
  for (int64_t at = globalThread(); at < chunks; at += globalThreads())
    reinterpret_cast<Chunk *>(to)[at] = Chunk{};
  for (int64_t at = chunks * 16 + globalThread(); at < bytes; at += globalThreads())
    to[at] = 0;
}

#define P3D_DEFINE(suffix, type)                                                                                       \
  P3D_KERNEL(256)                                                                                                      \
  p3d_scatter_add_##suffix(const type *updates, const int32_t *order, const uint32_t *rows, void *x, int32_t xIsF32,   \
                           int64_t slabs, int64_t outer, int64_t n, int32_t i, int32_t inner) {                        \
    scatterAdd<type>(updates, order, rows, x, xIsF32, slabs, outer, n, i, inner);                                      \
  }
P3D_FOR_FLOAT_TYPES(P3D_DEFINE)
