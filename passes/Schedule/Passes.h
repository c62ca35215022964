// The passes that order the tasks of stages.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "mlir/Pass/Pass.h"

namespace p3d {
#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"
} // namespace p3d
