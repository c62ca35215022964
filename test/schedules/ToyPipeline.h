// A pipeline that computes with hashes in place of tensors: each stage executes its order, sends wait for their
// receives, and what comes out is compared with what one device would have computed. It shares no code with the
// checker.
#pragma once

#include "passes/Schedule/ScheduleChecker.h"

namespace p3d {

/// Whether `schedule` ends with every gradient right.
bool runsRight(const Schedule &schedule, ScheduleSize size, Placement placement);

} // namespace p3d
