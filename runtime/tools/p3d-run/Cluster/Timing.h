// How long launchers wait for each other.
#pragma once
#include "runtime/Comm/SharedMemory/Wait.h"

namespace p3d {

/// Between two signs of life.
constexpr double heartbeatSeconds = 0.5;
/// For others to take the news that the run has failed.
constexpr double farewellSeconds = 2;

/// The shortest silence that means death: machines that swap are slow.
constexpr double shortestSilenceSeconds = 10;

inline double secondsSince(int64_t ns) { return double(monotonicNs() - ns) / 1e9; }

} // namespace p3d
