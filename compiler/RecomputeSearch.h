// --recompute=auto: the least that is computed again for the step to fit.
#pragma once

#include "compiler/Manifest.h"
#include "compiler/Options.h"

namespace p3d {

/// Of the values of --recompute, in the order of what they compute again, the first whose largest stage fits the device's memory. A remark lists the bytes of each. An
/// error if none fits.
mlir::FailureOr<std::string> chooseRecompute(mlir::ModuleOp imported, const Options &options);

} // namespace p3d
