// The passes of the import level: from StableHLO text to one graph.program with its blocks.
#pragma once

#include "dialects/Graph/GraphOps.h"
#include "dialects/StableHLO/StableHLO.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace p3d {

#define GEN_PASS_DECL
#include "passes/Import/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Import/Passes.h.inc"

} // namespace p3d
