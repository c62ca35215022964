// Rows by index: a thread copies one unit, the widest of 16, 8, 4, 2 and 1 bytes that divides a row and fits the
// pointers. Traffic: ids and the rows named, read once, and the output, written once.
#include "kernels/Indices.cuh"

using namespace p3d;

namespace {

template <typename Unit>
P3D_DEVICE void gather(Ids ids, const Unit *x, Unit *out, int64_t outer, int64_t i, int64_t unitsPerRow,
                       int64_t total) {
  for (int64_t at = globalThread(); at < total; at += globalThreads()) {
    int64_t row = at / unitsPerRow, unit = at % unitsPerRow; // of out: [b][o][i]
    int64_t slab = row / i, id = ids.row(slab / outer * i + row % i);
    out[at] = id < 0 ? Unit{} : x[(slab * ids.extent + id) * unitsPerRow + unit];
  }
}

} // namespace

#define P3D_DEFINE(bytes, unit)                                                                                        \
  P3D_KERNEL(256)                                                                                                      \
  p3d_gather_##bytes(const void *ids, int32_t idDtype, int64_t extent, int64_t start, const unit *x, unit *out,        \
                     int64_t outer, int64_t i, int64_t unitsPerRow, int64_t total) {                                   \
    gather<unit>({ids, idDtype, extent, start}, x, out, outer, i, unitsPerRow, total);                                 \
  }
P3D_DEFINE(16, Chunk)
P3D_DEFINE(8, uint64_t)
P3D_DEFINE(4, uint32_t)
P3D_DEFINE(2, uint16_t)
P3D_DEFINE(1, uint8_t)
