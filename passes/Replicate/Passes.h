// The passes that make replicas agree.
#pragma once

#include "dialects/Pipe/PipeOps.h"
#include "mlir/Pass/Pass.h"

namespace p3d {
#define GEN_PASS_DECL
#include "passes/Replicate/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Replicate/Passes.h.inc"
} // namespace p3d
