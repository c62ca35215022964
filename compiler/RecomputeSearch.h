// What flags leave to be decided by a plan of the memory: the sequence over tp, and the least that is computed again for the step to fit.
#pragma once

#include "compiler/Manifest.h"
#include "compiler/Options.h"

namespace p3d {

/// Decides --recompute=auto: of its values, in the order of what they compute again, the first whose largest stage fits the device's memory; an error if none does. Where
/// --sequence-parallel=auto, which looks at time, does not fit, --sequence-parallel=on is tried before more is computed again. A remark lists the bytes of each choice
/// where one was made.
mlir::LogicalResult chooseToFit(mlir::ModuleOp imported, Options &options);

} // namespace p3d
