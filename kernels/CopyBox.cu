// Copies a box between strided places: the chunks of a collective that are not contiguous. A thread copies one unit, the
// widest of 16, 8, 4, 2 and 1 bytes that divides runs, strides and addresses. Traffic: the box once in, once out.
#include "kernels/CudaArguments.h"
#include "kernels/Element.cuh"

using namespace p3d;

namespace {

/// Extents and strides in units.
template <typename Unit>
P3D_DEVICE void copyBox(const p3d_cuda_box &box, const Unit *source, Unit *target, int64_t total) {
  for (int64_t at = globalThread(); at < total; at += globalThreads()) {
    int64_t rest = at / box.extent[4], from = at % box.extent[4], to = from;
    for (int d = 3; d >= 0; --d) {
      int64_t index = rest % box.extent[d];
      rest /= box.extent[d];
      from += index * box.source[d];
      to += index * box.target[d];
    }
    target[to] = source[from];
  }
}

} // namespace

#define P3D_DEFINE(bytes, unit)                                                                                        \
  P3D_KERNEL(256)                                                                                                      \
  p3d_copy_box_##bytes(p3d_cuda_box box, const unit *source, unit *target, int64_t total) {                            \
    copyBox<unit>(box, source, target, total);                                                                         \
  }
P3D_DEFINE(16, Chunk)
P3D_DEFINE(8, uint64_t)
P3D_DEFINE(4, uint32_t)
P3D_DEFINE(2, uint16_t)
P3D_DEFINE(1, uint8_t)
