// The passes that cut the training step into stages.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "mlir/Pass/Pass.h"

namespace p3d {
#define GEN_PASS_DECL
#include "passes/Stage/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Stage/Passes.h.inc"
} // namespace p3d
