// Launcher of copies between strided places.
#include "kernels/launch/Launch.h"

using namespace p3d;

/// The widest unit that everything is a multiple of, in bytes.
static int64_t unitOf(const p3d_cuda_box &box, const void *source, const void *target) {
  uint64_t bits =
      reinterpret_cast<uint64_t>(source) | reinterpret_cast<uint64_t>(target) | uint64_t(box.extent[4]) | 16;
  for (int d = 0; d < 4; ++d)
    if (box.extent[d] > 1)
      bits |= uint64_t(box.source[d]) | uint64_t(box.target[d]);
  return int64_t(bits & -bits);
}

void p3d_cuda_copy_box(p3d_launcher *launcher, void *stream, const p3d_cuda_box *box, const void *source,
                       void *target) {
  Launch launch(launcher, stream);
  p3d_cuda_box units = *box;
  int64_t unit = unitOf(units, source, target), total = 1;
  units.extent[4] /= unit;
  for (int d = 0; d < 5; ++d)
    total *= units.extent[d];
  for (int d = 0; d < 4; ++d)
    units.source[d] /= unit, units.target[d] /= unit;
  if (total > 0)
    launch.run("p3d_copy_box_" + std::to_string(unit), loopGrid(launch, total, 256), 256, 0, units, source, target,
               total);
}
