// What main() of a rank does once it has found the control region; each target
// has its own.
#pragma once
#include "runtime/Comm/SharedMemory/Control.h"

namespace p3d {

/// The whole life of a rank, by the options in the control region. Throws what
/// ends it early.
void runRank(const Control &control, int rank);

} // namespace p3d
