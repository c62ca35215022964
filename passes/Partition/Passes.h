// Passes of the partition level; see Passes.td.
#pragma once

#include "dialects/Dist/DistOps.h"
#include "dialects/Graph/GraphOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace p3d::partition {
#define GEN_PASS_DECL
#include "passes/Partition/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Partition/Passes.h.inc"
} // namespace p3d::partition
