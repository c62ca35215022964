// What the lanes of a warp do together: pure functions of the values that the lanes bring.
#pragma once
#include "test/emulator/Kernel/ThreadContext.h"

namespace p3d::emulator {

struct WarpValues {
  uint64_t value[32];
  uint32_t b[32], c[32];
};

/// The result of `op` for one of the lanes in `lanes`. A shuffle from a lane that takes no part gives poison (all
/// ones).
uint64_t warpResult(P3dWarpOp op, uint32_t lane, uint32_t lanes, const WarpValues &values);
/// Whether all lanes get the same result.
bool isSameForAll(P3dWarpOp op);
/// For messages.
const char *warpOpName(uint32_t op);

} // namespace p3d::emulator
