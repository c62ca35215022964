// Passes that make a training step of a loss.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "mlir/Pass/Pass.h"

namespace p3d {
#define GEN_PASS_DECL
#include "passes/Autodiff/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Autodiff/Passes.h.inc"
} // namespace p3d
