// The memory of activations: for each microbatch a piece of the arena from the first task that touches it to the last.
#pragma once

#include "dialects/Exec/ExecOps.h"

namespace p3d::memory {

/// Makes slabs of the activations of `program`, one of those that the same tasks touch, and gives them places in the arena from `begin` on.
/// A slab that is sent from has slots, since its end is the runtime's to wait for; the others take what is free at their time in a step.
/// Returns where they end.
int64_t placeActivations(exec::ProgramOp program, int64_t begin);

} // namespace p3d::memory
